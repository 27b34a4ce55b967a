// Shows new pages as they come, at the top of the list that the server made. Without it the page is complete.
(function () {
  "use strict";
  var list = document.getElementById("events"), last = document.body.dataset.last, at = document.body.dataset.at;
  if (!list || !window.EventSource) return;
  var most = Number(list.dataset.most) || 50;

  function element(name, className, text) {
    var e = document.createElement(name);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
  }
  // What strangers wrote is text, cleaned and isolated as the server does it.
  function own(text, most) {
    text = String(text || "").slice(0, 1000).replace(/[\p{Cc}\p{Co}\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu, " ").replace(/\s+/g, " ").trim();
    var letters = Array.from(text);
    return element("bdi", "", letters.length > most ? letters.slice(0, most).join("") + "…" : text);
  }
  function link(className, to, text, most) {
    var a = element("a", className);
    a.href = to;
    a.append(own(text, most));
    return a;
  }
  function row(e) {
    var li = element("li", "fresh"), what = element("div", "what"), meta = element("div", "meta");
    li.dataset.seq = e.seq;
    if (/^https?:\/\//.test(e.url)) {
      var title = link("title", e.url, e.title || e.url, 120);
      title.rel = "noreferrer noopener nofollow external";
      what.append(title, " ");
    }
    what.append(link("url", at + "/url?url=" + encodeURIComponent(e.url), e.url, 160));
    meta.append(element("span", "kind", e.kind || ""), " ");
    if (e.site) meta.append(link("", at + "/sites/" + encodeURIComponent(e.site), e.site, 120), " ");
    var at = element("time", "", (e.at || "").slice(0, 16).replace("T", " "));
    at.dateTime = e.at || "";
    meta.append(at);
    li.append(what, meta);
    return li;
  }

  var source = new EventSource(at + "/api/v1/events/stream?type=page.new&after=" + encodeURIComponent(last));
  source.addEventListener("page.new", function (m) {
    var e;
    try { e = JSON.parse(m.data); } catch (_) { return; }
    list.prepend(row(e));
    while (list.children.length > most) list.lastElementChild.remove();
    var none = document.getElementById("none");
    if (none) none.remove();
    document.querySelectorAll("[data-count=new]").forEach(function (n) {
      n.textContent = String(Number(n.textContent.replace(/\D/g, "")) + 1).replace(/\B(?=(\d{3})+$)/g, "\u202f");
    });
  });
  // A connection that is kept would count as one of few where the page is only gone back to.
  addEventListener("pagehide", function () { source.close(); });
})();
