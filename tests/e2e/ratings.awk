# Ratings in the form of MovieLens: users and films with tastes, rows and seed by -v. A quarter of
# the rating is chance.
BEGIN {
  srand(seed)
  for (u = 1; u <= 40; u++) taste[u] = rand() - 0.5
  for (f = 1; f <= 60; f++) appeal[f] = rand() - 0.5
  print "userId,movieId,rating,timestamp"
  for (i = 0; i < rows; i++) {
    u = 1 + int(40 * rand())
    f = 1 + int(60 * rand())
    score = 3.5 + 3 * taste[u] + 3 * appeal[f] + 2 * (rand() - 0.5)
    stars = int(2 * score + 0.5) / 2
    stars = stars < 0.5 ? 0.5 : stars > 5 ? 5 : stars
    printf "%d,%d,%.1f,%d\n", u, f * 97, stars, 964980868 + i
  }
}
