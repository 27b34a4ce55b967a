package explore

// pagePrior are the weights that best starts from: those that FitPrior gives for crawls of the 52 sites of explore-sites, all of
// them. How well such weights do at sites that they were not fitted to is best-folds in that table. For lack of
// more sites the features and the ridge were chosen on the same folds: of some forty choices nearly all were within 0.02 of these at each
// budget, but for the words of lists, without which 0.03 less are found at 1%.
//
// The histories hold no sitemaps: their weight says that one names tens of pages, and what the site's own bring corrects it.
var pagePrior = pageVector{
	pageOne:      0.552,
	pageInverse:  0.21,
	pageDegree:   -0.0504,
	pageNewShare: 0.159,
	pageDepth:    -0.0549,
	pageLength:   -0.109,
	pageSlash:    0.391,
	pageNumber:   0.166,
	pagePaged:    0.569,
	pageList:     0.199,
	pageSitemap:  3,
	kindSeen:     -0.018,
	kindRare:     0.178,
	templateSeen: 0.0148,
	templateRare: 0.215,
}
