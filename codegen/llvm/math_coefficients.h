// Written by math_coefficients.py; lowest power first. The errors are those of the rounded
// polynomials in exact arithmetic, relative to the function.
#ifndef CG_LLVM_MATH_COEFFICIENTS_H
#define CG_LLVM_MATH_COEFFICIENTS_H

#include <stdint.h>

// exp(x) = 1 + x + x^2 P(x), |x| <= 0.35; 2.36e-9
static const double cg_exp_f32[] = {
    0x1.0000000000000p-1, 0x1.5555540000000p-3,  0x1.5554aa0000000p-5,
    0x1.11118e0000000p-7, 0x1.6d78d80000000p-10, 0x1.a0334c0000000p-13,
};
// exp(x) = 1 + x + x^2 P(x), |x| <= 0.35; 1.34e-18
static const double cg_exp_f64[] = {
    0x1.0000000000000p-1,  0x1.5555555555555p-3,  0x1.5555555555559p-5,  0x1.1111111111104p-7,
    0x1.6c16c16c14bcbp-10, 0x1.a01a01a0211f4p-13, 0x1.a01a01ae5f4f2p-16, 0x1.71de3a3bf8a12p-19,
    0x1.27e4ca9a784c3p-22, 0x1.ae649c1bb39c2p-26, 0x1.1f8dd402fde74p-29, 0x1.61281f0fb0a55p-33,
};
// log(1 + x) = x - x^2/2 + x^3 P(x), sqrt(1/2) <= 1 + x <= sqrt(2); 3.25e-9
static const double cg_log_terms_f32[] = {
    0x1.5555480000000p-2,  -0x1.0000060000000p-2, 0x1.99a4b60000000p-3,
    -0x1.555c4e0000000p-3, 0x1.2337680000000p-3,  -0x1.fc21f40000000p-4,
    0x1.e6f0580000000p-4,  -0x1.de3c7e0000000p-4, 0x1.1458460000000p-4,
};
// log((1+s)/(1-s)) = 2s + s z Q(z), z = s^2; 1.49e-18
static const double cg_log_terms_f64[] = {
    0x1.5555555555593p-1, 0x1.999999997f989p-2, 0x1.2492494234510p-2, 0x1.c71c51cd4d49bp-3,
    0x1.74664c3a8fbc5p-3, 0x1.39a04b6e5424ep-3, 0x1.2f14b2627f1cep-3,
};
// log((1+s)/(1-s)) = 2s + 2/3 s^3 + s^5 T(z), z = s^2; 8.7e-23
static const double cg_pow_log_f64[] = {
    0x1.9999999999995p-2, 0x1.2492492493192p-2, 0x1.c71c71c557429p-3, 0x1.745d1845e6510p-3,
    0x1.3b135d883494dp-3, 0x1.11217b7ade807p-3, 0x1.de14465db9e9bp-4, 0x1.ec130474473fep-4,
};
// log2((1+s)/(1-s)) = s L(z), z = s^2; 4.28e-12
static const double cg_pow_log2_f32[] = {
    0x1.71547652bef85p+1, 0x1.ec709d10de2c9p-1, 0x1.27778160c9c0fp-1,
    0x1.a58cd56b43b31p-2, 0x1.5cf586e364227p-2,
};
// 2^x, |x| <= 0.5; 8.47e-13
static const double cg_pow_exp2_f32[] = {
    0x1.ffffffffff6c3p-1,  0x1.62e42fef83aa2p-1,  0x1.ebfbdff94749bp-3,
    0x1.c6b08dda89e12p-5,  0x1.3b2ab5b204856p-7,  0x1.5d8740dd1b6c7p-10,
    0x1.430adea5f6d09p-13, 0x1.00dfb8cd1c9cap-16, 0x1.61aa4116e8d09p-20,
};
// sin(x) = x + x^3 P(x^2), |x| <= pi/4; 4.16e-9
static const double cg_sin_f32[] = {
    -0x1.5555440000000p-3,
    0x1.1106c60000000p-7,
    -0x1.991c2a0000000p-13,
};
// cos(x) = 1 - x^2/2 + x^4 P(x^2), |x| <= pi/4; 1.39e-10
static const double cg_cos_f32[] = {
    0x1.55554a0000000p-5,
    -0x1.6c0c140000000p-10,
    0x1.99de6a0000000p-16,
};
// sin(x) = x + x^3 P(x^2), |x| <= pi/4; 4.33e-18
static const double cg_sin_f64[] = {
    -0x1.5555555555547p-3, 0x1.111111110f572p-7,   -0x1.a01a019bad784p-13,
    0x1.71de351ef33fep-19, -0x1.ae5e1f8a7fcf0p-26, 0x1.5d7e3a113b2bep-33,
};
// cos(x) = 1 - x^2/2 + x^4 P(x^2), |x| <= pi/4; 6.79e-20
static const double cg_cos_f64[] = {
    0x1.5555555555549p-5,   -0x1.6c16c16c14bcfp-10, 0x1.a01a019c24ecap-16,
    -0x1.27e4f7a4ebf9dp-22, 0x1.1ee9a7a700f9ap-29,  -0x1.8f8b731892eb0p-37,
};
// erf(x) = x + x P(x^2), |x| <= 1; 1.43e-9
static const double cg_erf_small_f32[] = {
    0x1.06eba80000000p-3, -0x1.81273e0000000p-2,  0x1.ce2ce60000000p-4,  -0x1.b7f71a0000000p-6,
    0x1.53f2240000000p-8, -0x1.a3515e0000000p-11, 0x1.4771fe0000000p-14,
};
// erf(x) = 1 - exp(P(x - 1)), 1 <= x <= 4; 9.4e-9
static const double cg_erf_large_f32[] = {
    -0x1.d97fc00000000p+0, -0x1.51c9b00000000p+1, -0x1.afabba0000000p-1, -0x1.547d160000000p-5,
    0x1.4934e60000000p-7,  -0x1.07bad40000000p-9, 0x1.2fa80c0000000p-12, -0x1.6c068a0000000p-16,
};
// erf(x) = x + x P(x^2), |x| <= 1; 1.37e-17
static const double cg_erf_small_f64[] = {
    0x1.06eba8214db68p-3,  -0x1.812746b03799dp-2,  0x1.ce2f21a03f8bap-4,  -0x1.b82ce311a986fp-6,
    0x1.565bcceedc48cp-8,  -0x1.c02daeb77613ap-11, 0x1.f9a296c2b732fp-14, -0x1.f4c8301920313p-17,
    0x1.b96b64a9598e6p-20, -0x1.5b8ccdc8dc64fp-23, 0x1.d3e0be021b1dep-27, -0x1.a2489dffca2f1p-31,
};
// erf(x) = 1 - exp(P(x - 1)), 1 <= x <= 6; 6.84e-18
static const double cg_erf_large_f64[] = {
    -0x1.d97fbf27aa2a1p+0,  -0x1.51c9b0006c23dp+1,  -0x1.afabc11a28f38p-1,  -0x1.5477f09ca956bp-5,
    0x1.48c9d40c0b334p-7,   -0x1.033f6994b99cfp-9,  0x1.f1b4bb8f0f3e8p-13,  0x1.b8be5c579fdd5p-16,
    -0x1.c75a07dfc03bep-16, 0x1.415c26b96a747p-17,  -0x1.0ef185f70166cp-19, 0x1.baf743d886628p-24,
    0x1.0e7204c36e50fp-23,  -0x1.1db901fec59a1p-24, 0x1.5152da5a4e299p-26,  -0x1.c9e15efb81bb0p-29,
    -0x1.98840106e86a3p-34, 0x1.402e85ba2816dp-32,  -0x1.fba11de3afaabp-34, 0x1.f5641813ecedep-36,
    -0x1.57c1cda939f01p-38, 0x1.416925d9251e6p-41,  -0x1.738954bb66ae0p-45, 0x1.92205d13787ddp-50,
};
// tanh(x) = x + x^3 P(x^2), |x| <= 0.5; 3.77e-10
static const double cg_tanh_f32[] = {
    -0x1.5555520000000p-2, 0x1.110f620000000p-3,  -0x1.b995960000000p-5,
    0x1.5d50e80000000p-6,  -0x1.b5eef80000000p-8,
};
// 64 zero bits, then the binary digits of 2/pi after the point.
static const uint64_t cg_two_over_pi[] = {
    0,
    0xa2f9836e4e441529,
    0xfc2757d1f534ddc0,
    0xdb6295993c439041,
    0xfe5163abdebbc561,
    0xb7246e3a424dd2e0,
    0x06492eea09d1921c,
    0xfe1deb1cb129a73e,
    0xe88235f52ebb4484,
    0xe99c7026b45f7e41,
    0x3991d639835339f4,
    0x9c845f8bbdf9283b,
    0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f,
    0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea,
    0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
    0xf0cfbc209af4361d,
    0xa9e391615ee61b08,
};

#endif
