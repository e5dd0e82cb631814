// Keeps the page true to the record. It never decides: it sends the form that the
// server rendered, and shows what the server answers. Without it every page works;
// with it the page also refreshes itself.
(() => {
  "use strict";
  const limit = (ms) => AbortSignal.timeout?.(ms); // Older browsers wait as long as they do.
  const pollEvery = 2000; // ms, and only while somebody looks.
  const silence = 45000; // ms without a sign of life before the stream counts as dead.
  const main = document.getElementById("main");
  const trouble = document.getElementById("trouble");
  const troubleText = document.getElementById("trouble-text");
  const retry = document.getElementById("retry");
  const reading = document.getElementById("reading");

  let asked = 0; // Number of the newest request: answers to older ones are ignored.
  let sending = false;
  let frozen = false; // An answer may or may not have been recorded: read first.

  const root = (within) => within.querySelector("[data-state]");
  const state = () => root(main)?.dataset.state;
  const live = () => state() === "pending" || state() === "inbox";
  const visible = () => document.visibilityState === "visible";

  const words = {
    offline: "No connection to the service. What you see may be out of date.",
    lost: "The connection was lost. It is not known whether your answer was recorded; " +
      "nothing else can be pressed until the record was read.",
    back: "The record shows no answer yet. Yours may still arrive: if you press again, the first one counts.",
  };

  function say(text, again) {
    if (troubleText.textContent !== text) troubleText.textContent = text; // Announced once, not at every poll.
    retry.hidden = !again;
    trouble.hidden = false;
  }

  // --- Time -------------------------------------------------------------------

  // Times in the reader's own zone and language; the server's text stays as a hint.
  function localise() {
    for (const t of main.querySelectorAll("time[data-ms]")) {
      t.title = t.textContent;
      t.textContent = new Date(Number(t.dataset.ms)).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
    }
  }

  // Countdowns run by the service's clock: the browser's own may be wrong.
  let skew = 0;
  function readClock() {
    const now = Number(root(main)?.dataset.now);
    if (now) skew = now - Date.now();
  }
  function tick() {
    for (const el of main.querySelectorAll("[data-until]")) {
      const s = Math.max(0, Math.round((Number(el.dataset.until) - Date.now() - skew) / 1000));
      const d = Math.floor(s / 86400), h = Math.floor(s / 3600) % 24, m = Math.floor(s / 60) % 60;
      el.textContent = s === 0 ? "time is over"
        : (d ? d + " d " + h + " h" : h ? h + " h " + m + " min" : m ? m + " min" : s + " s") + " left";
    }
  }

  // --- Showing what the server rendered -------------------------------------------

  // read turns an answer into a page of ours. A proxy's own error page is none, and
  // neither is "cannot be read now": both say nothing about the record.
  async function read(res) {
    const page = new DOMParser().parseFromString(await res.text(), "text/html").body;
    const r = root(page);
    if (!r || r.dataset.state === "error") throw new Error("not a page");
    return page;
  }

  const link = (href) => [...main.querySelectorAll("a")].find((a) => a.getAttribute("href") === href);

  function swap(page) {
    const before = root(main), after = root(page);
    if (before?.dataset.approval && after.dataset.approval && before.dataset.approval !== after.dataset.approval) return;
    if (before?.dataset.person && after.dataset.person && before.dataset.person !== after.dataset.person) {
      return location.reload(); // Somebody else has signed in here since.
    }
    if (after.dataset.state === "sign-in") document.querySelector(".who")?.remove();
    const same = before?.dataset.version && before.dataset.version === after.dataset.version;
    if (same && !frozen && !sending) return; // Nothing new: keep what is typed, focus and scroll.

    const note = main.querySelector("#note")?.value;
    const noted = main.querySelector("details.note")?.open;
    const held = document.activeElement, id = held?.id, href = held?.getAttribute("href");
    const row = window.scrollY > 0 && [...main.querySelectorAll(".list a")].find((a) => a.getBoundingClientRect().bottom > 0);
    const place = row && row.getBoundingClientRect().top;
    const settled = before?.dataset.state === "pending" && after.dataset.state !== "pending";
    main.replaceChildren(...page.childNodes);
    readClock();
    localise();
    tick();
    const box = main.querySelector("#note");
    if (box && note) box.value = note;
    if (box && noted) box.closest("details").open = true;
    const result = main.querySelector("#result") || main.querySelector("#notice");
    if (result && (settled || sending)) {
      result.focus();
    } else {
      (id ? document.getElementById(id) : href && link(href))?.focus({ preventScroll: true });
      const moved = row && link(row.getAttribute("href"));
      if (moved) window.scrollBy(0, moved.getBoundingClientRect().top - place);
    }
    frozen = "unclear" in (root(main)?.dataset ?? {});
    watch();
  }

  async function refresh(loud) {
    if (sending) return;
    const mine = ++asked;
    if (loud) reading.hidden = false;
    try {
      const res = await fetch(location.href.split("#")[0], {
        headers: { "X-Part": "main" }, cache: "no-store", credentials: "same-origin", signal: limit(15000),
      });
      const page = await read(res);
      if (mine !== asked) return;
      const was = frozen;
      swap(page);
      if (was && !frozen && state() === "pending") say(words.back, false);
      else if (retry.hidden === false || state() !== "pending") trouble.hidden = true;
    } catch (_) {
      if (mine === asked) say(frozen ? words.lost : words.offline, true);
    } finally {
      if (mine === asked) reading.hidden = true;
    }
  }

  // --- A press -----------------------------------------------------------------------

  async function decide(form, button) {
    sending = true;
    const mine = ++asked;
    const data = new URLSearchParams(new FormData(form));
    data.set("decision", button.value);
    const label = button.textContent;
    for (const b of form.querySelectorAll("button")) b.disabled = true;
    button.textContent = button.dataset.doing;
    button.setAttribute("aria-busy", "true");
    reading.hidden = trouble.hidden = true;
    try {
      const res = await fetch(form.action, {
        method: "POST", body: data, headers: { "X-Part": "main" }, credentials: "same-origin",
        redirect: "error", signal: limit(20000),
      });
      const page = await read(res);
      if (mine === asked) swap(page);
    } catch (_) {
      // The answer was lost, which says nothing about the record.
      frozen = true;
      button.textContent = label;
      button.removeAttribute("aria-busy");
      say(words.lost, true);
    }
    sending = false;
    if (frozen) refresh(true);
  }

  document.addEventListener("submit", (e) => {
    if (e.target.id !== "decide") return;
    e.preventDefault();
    if (e.submitter?.value && !sending && !frozen) decide(e.target, e.submitter);
  });
  retry.addEventListener("click", () => refresh(true));

  // --- Staying fresh -------------------------------------------------------------------

  let events = null;
  let heard = 0; // When the stream last gave a sign of life.
  let nextTry = 0;

  function unwatch() {
    events?.close();
    events = null;
    heard = 0;
  }

  // A stream only while somebody looks: a browser has few connections to one host.
  function watch() {
    if (state() !== "pending" || !visible()) return unwatch();
    if (events || Date.now() < nextTry) return;
    nextTry = Date.now() + 10000;
    const r = root(main);
    events = new EventSource(r.dataset.page + "/events?revision=" + r.dataset.revision);
    events.addEventListener("alive", () => { heard = Date.now(); });
    events.addEventListener("change", () => { heard = Date.now(); refresh(false); });
    events.addEventListener("end", () => { unwatch(); refresh(false); });
    events.addEventListener("error", () => {
      heard = 0;
      if (events?.readyState === EventSource.CLOSED) unwatch();
    });
  }

  setInterval(() => {
    tick();
    if (!visible()) return;
    watch();
    const streams = events && Date.now() - heard < silence;
    if (frozen || (live() && !streams)) refresh(false);
  }, pollEvery);
  document.addEventListener("visibilitychange", () => {
    watch();
    if (visible() && live()) refresh(false);
  });
  window.addEventListener("pageshow", (e) => { if (e.persisted) refresh(true); });

  // --- Sign-in ------------------------------------------------------------------------

  // A one-time code comes in the fragment, which no server and no log sees. It leaves
  // the address bar at once. Going on only asks whose code it is; the page that
  // follows asks before it is used.
  function takeCode() {
    const code = new URLSearchParams(location.hash.slice(1)).get("code");
    if (!code) return;
    history.replaceState(null, "", location.pathname + location.search);
    const form = document.getElementById("signin");
    if (!form) return;
    document.getElementById("code").value = code;
    const name = document.getElementById("name");
    if (name) name.focus();
    else form.requestSubmit();
  }
  window.addEventListener("hashchange", takeCode);
  takeCode();

  readClock();
  localise();
  tick();
  watch();
  (document.getElementById("result") ?? document.getElementById("notice"))?.focus();
})();
