/* What the site's search shows first: titles with the words that were asked for, and pages that explain or show how. */
const PLACES = [[/^docs\/(index|problems|certificates|tutorial|uses|how-to|explanation)/, 20], [/^(models|docs\/reference)/, 10]];

var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  score([page, title, , , score]) {
    const query = new URLSearchParams(window.location.search).get("q") || "";
    const asked = (query.toLowerCase().match(/\w{2,}/g) || []).filter((word) => word === "own" || !stopwords.has(word));
    const words = title.toLowerCase().split(/\W+/);
    const found = asked.filter((word) => words.some((own) => own.startsWith(word.replace(/s$/, ""))));
    const place = PLACES.find(([pages]) => pages.test(page));
    return score + (place ? place[1] : 0) + (asked.length ? (30 * found.length) / asked.length : 0);
  },
};
