#!/usr/bin/env python3
"""Derives the polynomials of the math functions and writes math_coefficients.h to stdout.

Each is the minimax polynomial of its function under a weight (Remez exchange in 60 digits), its
coefficients rounded to the target type, those that remain being fitted anew after each rounding
where that helps. Needs mpmath; not part of the build.
"""
from mpmath import mp, mpf
import mpmath, struct

mp.dps = 60

def round_to(bits, value):
    if bits == 64:
        return mpf(float(value))
    return mpf(struct.unpack("f", struct.pack("f", float(value)))[0])

def remez(f, w, a, b, powers):
    """Coefficients c minimising max |w(x) (f(x) - sum c_i x^powers[i])| on [a, b], and that maximum."""
    n = len(powers)
    grid_size = 60 * (n + 2)
    grid = [(a + b) / 2 + (b - a) / 2 * -mpmath.cos(mp.pi * i / grid_size) for i in range(grid_size + 1)]
    values = [(x, f(x), w(x)) for x in grid]
    # Where the weight vanishes the polynomial is free, and the system below would be singular.
    least = max(wx for _, _, wx in values) / 10 ** 6
    values = [v for v in values if v[2] > least]
    grid_size = len(values) - 1
    picks = [round(i * grid_size / n) for i in range(n + 1)]
    for _ in range(20):
        m = mp.matrix(n + 1, n + 1)
        rhs = mp.matrix(n + 1, 1)
        for row, k in enumerate(picks):
            x, fx, wx = values[k]
            for col, p in enumerate(powers):
                m[row, col] = x ** p
            m[row, n] = (-1) ** row / wx
            rhs[row] = fx
        solution = mpmath.lu_solve(m, rhs)
        c = [solution[i] for i in range(n)]
        level = abs(solution[n])
        errors = [wx * (fx - sum(ci * x ** p for ci, p in zip(c, powers))) for x, fx, wx in values]
        extrema, k = [], 0
        while k <= grid_size:
            sign, best = errors[k] >= 0, k
            while k <= grid_size and (errors[k] >= 0) == sign:
                if abs(errors[k]) > abs(errors[best]):
                    best = k
                k += 1
            extrema.append(best)
        while len(extrema) > n + 1:
            if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]):
                extrema.pop(0)
            else:
                extrema.pop()
        worst = max(abs(e) for e in errors)
        if len(extrema) < n + 1 or extrema == picks or worst < level * mpf("1.0001"):
            break
        picks = extrema
    return c, worst

def fit(bits, f, w, a, b, degree, step=1):
    """Rounded coefficients and their largest weighted error: the better of rounding all at once and of
    rounding one after another."""
    a, b = mpf(a), mpf(b)
    points = [a + (b - a) * i / 500 for i in range(501)]
    points = [(x, f(x), w(x)) for x in points]
    def error(c):
        return max(wx * abs(fx - sum(ci * x ** (step * i) for i, ci in enumerate(c)))
                   for x, fx, wx in points)
    def powers(i):
        return [step * p for p in range(i, degree + 1)]
    plain, _ = remez(f, w, a, b, powers(0))
    fixed = [round_to(bits, plain[0])]
    for i in range(1, degree + 1):
        rest = lambda x: f(x) - sum(c * x ** (step * p) for p, c in enumerate(fixed))
        c, _ = remez(rest, w, a, b, powers(i))
        fixed.append(round_to(bits, c[0]))
    rounded = [round_to(bits, c) for c in plain]
    return min((rounded, error(rounded)), (fixed, error(fixed)), key=lambda choice: choice[1])

def show(name, bits, coefficients, comment):
    ctype = "double"
    print(f"// {comment}")
    print(f"static const {ctype} {name}[] = {{")
    for c in coefficients:
        print(f"    {float(c).hex()},")
    print("};")

def taylor_safe(f, series):
    """f, or the first terms of its series where f loses all digits."""
    return lambda x: series(x) if abs(x) < mpf(10) ** -15 else f(x)

def main():
    half_ln2 = mp.log(2) / 2 * mpf("1.01")
    print("// Written by math_coefficients.py; lowest power first. The errors are those of the rounded")
    print("// polynomials in exact arithmetic, relative to the function.")
    print("#ifndef CG_LLVM_MATH_COEFFICIENTS_H\n#define CG_LLVM_MATH_COEFFICIENTS_H\n\n#include <stdint.h>\n")

    def p_exp(x):
        return (mpmath.expm1(x) - x) / x ** 2
    def p_exp_series(x):
        return mpf(1) / 2 + x / 6 + x * x / 24
    def w_exp(x):
        return x * x / mpmath.expm1(x) if x else mpf(0)
    tiny = mpf(10) ** -30
    for bits, degree in ((32, 5), (64, 11)):
        c, e = fit(bits, taylor_safe(p_exp, p_exp_series),
                   lambda x: abs(w_exp(x)) + tiny, -half_ln2, half_ln2, degree)
        show(f"cg_exp_f{bits}", bits, c, f"exp(x) = 1 + x + x^2 P(x), |x| <= 0.35; {mpmath.nstr(e, 3)}")

    def p_log(x):
        return (mpmath.log1p(x) - x + x * x / 2) / x ** 3
    def p_log_series(x):
        return mpf(1) / 3 - x / 4 + x * x / 5
    c, e = fit(32, taylor_safe(p_log, p_log_series),
               lambda x: abs(x ** 3 / mpmath.log1p(x)) + tiny if x else tiny,
               mp.sqrt(0.5) - 1, mp.sqrt(2) - 1, 8)
    show("cg_log_terms_f32", 32, c, f"log(1 + x) = x - x^2/2 + x^3 P(x), sqrt(1/2) <= 1 + x <= sqrt(2); {mpmath.nstr(e, 3)}")

    smax = (mp.sqrt(2) - 1) / (mp.sqrt(2) + 1) * mpf("1.001")
    # log((1 + s) / (1 - s)) = 2 s + s R(s^2); R(z) = 2 z / 3 + 2 z^2 / 5 + ..., fitted as z Q(z).
    def q_log(z):
        s = mp.sqrt(z)
        return (2 * mpmath.atanh(s) / s - 2) / z
    def q_log_series(z):
        return mpf(2) / 3 + 2 * z / 5 + 2 * z * z / 7
    c, e = fit(64, taylor_safe(q_log, q_log_series), lambda z: abs(z) / 2 + tiny, 0, smax ** 2, 6)
    show("cg_log_terms_f64", 64, c, f"log((1+s)/(1-s)) = 2s + s z Q(z), z = s^2; {mpmath.nstr(e, 3)}")
    # The tail for pow: log((1+s)/(1-s)) = 2 s + 2/3 s^3 + s^5 T(z).
    def t_log(z):
        s = mp.sqrt(z)
        return (2 * mpmath.atanh(s) / s - 2 - 2 * z / 3) / z ** 2
    def t_log_series(z):
        return mpf(2) / 5 + 2 * z / 7 + 2 * z * z / 9
    c, e = fit(64, lambda z: t_log_series(z) if abs(z) < mpf(10) ** -12 else t_log(z),
               lambda z: z * z / 2 + tiny, 0, smax ** 2, 7)
    show("cg_pow_log_f64", 64, c, f"log((1+s)/(1-s)) = 2s + 2/3 s^3 + s^5 T(z), z = s^2; {mpmath.nstr(e, 3)}")
    # pow of f32 computes in double: log2 and exp2 to about 1e-11.
    ln2 = mp.log(2)
    def l2(z):
        s = mp.sqrt(z)
        return 2 * mpmath.atanh(s) / s / ln2
    c, e = fit(64, lambda z: l2(z) if z > mpf(10) ** -20 else 2 / ln2,
               lambda z: ln2 / 2, 0, smax ** 2, 4)
    show("cg_pow_log2_f32", 64, c, f"log2((1+s)/(1-s)) = s L(z), z = s^2; {mpmath.nstr(e, 3)}")
    c, e = fit(64, lambda x: mpf(2) ** x, lambda x: mpf(2) ** -x, -mpf("0.505"), mpf("0.505"), 8)
    show("cg_pow_exp2_f32", 64, c, f"2^x, |x| <= 0.5; {mpmath.nstr(e, 3)}")

    q = mp.pi / 4 * mpf("1.01")
    for bits, degree in ((32, 2), (64, 5)):
        def p_sin(z):
            x = mp.sqrt(z)
            return (mpmath.sin(x) - x) / x ** 3
        c, e = fit(bits, lambda z: p_sin(z) if z > mpf(10) ** -15 else -mpf(1) / 6 + z / 120,
                   lambda z: z * mp.sqrt(z) / mpmath.sin(mp.sqrt(z)) + tiny if z else tiny, 0, q * q, degree)
        show(f"cg_sin_f{bits}", bits, c, f"sin(x) = x + x^3 P(x^2), |x| <= pi/4; {mpmath.nstr(e, 3)}")
        def p_cos(z):
            return (mpmath.cos(mp.sqrt(z)) - 1 + z / 2) / z ** 2
        c, e = fit(bits, lambda z: p_cos(z) if z > mpf(10) ** -12 else mpf(1) / 24 - z / 720,
                   lambda z: z * z / mpmath.cos(mp.sqrt(z)) + tiny, 0, q * q, degree)
        show(f"cg_cos_f{bits}", bits, c, f"cos(x) = 1 - x^2/2 + x^4 P(x^2), |x| <= pi/4; {mpmath.nstr(e, 3)}")

    for bits, split, top, small, large in ((32, 1, 4, 6, 7), (64, 1, 6, 11, 23)):
        def p_erf(z):
            x = mp.sqrt(z)
            return mpmath.erf(x) / x - 1
        c, e = fit(bits, lambda z: p_erf(z) if z > mpf(10) ** -30 else 2 / mp.sqrt(mp.pi) - 1,
                   lambda z: mp.sqrt(z) / mpmath.erf(mp.sqrt(z)) if z > mpf(10) ** -30 else mp.sqrt(mp.pi) / 2,
                   0, mpf(split) ** 2, small)
        show(f"cg_erf_small_f{bits}", bits, c, f"erf(x) = x + x P(x^2), |x| <= {split}; {mpmath.nstr(e, 3)}")
        c, e = fit(bits, lambda t: mpmath.log(mpmath.erfc(1 + t)),
                   lambda t: mpmath.erfc(1 + t) / mpmath.erf(1 + t), 0, top - 1, large)
        show(f"cg_erf_large_f{bits}", bits, c,
             f"erf(x) = 1 - exp(P(x - 1)), 1 <= x <= {top}; {mpmath.nstr(e, 3)}")

    def p_tanh(z):
        x = mp.sqrt(z)
        return (mpmath.tanh(x) / x - 1) / z
    c, e = fit(32, lambda z: p_tanh(z) if z > mpf(10) ** -20 else -mpf(1) / 3 + 2 * z / 15,
               lambda z: z + tiny, 0, mpf("0.2501"), 4)
    show("cg_tanh_f32", 32, c, f"tanh(x) = x + x^3 P(x^2), |x| <= 0.5; {mpmath.nstr(e, 3)}")

    words = 22
    mp.prec = 64 * (words + 4)
    value = int(mpmath.floor(2 / mp.pi * mpf(2) ** (64 * (words - 1))))
    print("// 64 zero bits, then the binary digits of 2/pi after the point.")
    print("static const uint64_t cg_two_over_pi[] = {")
    print("    0,")
    for i in range(words - 1):
        print(f"    0x{(value >> (64 * (words - 2 - i))) & (2 ** 64 - 1):016x},")
    print("};\n\n#endif")

main()
