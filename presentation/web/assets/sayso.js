// Keeps the page true to the record. It never decides: it sends the form that the
// server rendered, and shows what the server answers.
(() => {
  "use strict";
  const main = document.getElementById("main");
  const trouble = document.getElementById("trouble");
  const troubleText = document.getElementById("trouble-text");
  const reading = document.getElementById("reading");
  const pollEvery = 2000;
  let asked = 0; // Number of the newest request: answers to older ones are ignored.
  let sending = false;
  let frozen = false; // An answer may or may not have been recorded: read first.
  let events = null;
  let eventsWork = false;

  const card = () => main.querySelector("[data-live]");
  const inbox = () => main.querySelector("[data-inbox]");

  function showTrouble(text) {
    troubleText.textContent = text;
    trouble.hidden = false;
  }

  function setDisabled(off) {
    for (const b of main.querySelectorAll("#decide button")) b.disabled = off;
  }

  // Times in the reader's own zone and language; the server's text stays as a hint.
  function localise() {
    for (const t of main.querySelectorAll("time[data-ms]")) {
      const d = new Date(Number(t.dataset.ms));
      t.title = t.textContent;
      t.textContent = d.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
    }
  }

  // Countdowns run by the service's clock: the browser's own may be wrong.
  let skew = 0;
  function readClock() {
    const at = main.querySelector("[data-now]");
    if (at) skew = Number(at.dataset.now) - Date.now();
  }
  function tick() {
    for (const el of main.querySelectorAll("[data-until]")) {
      const s = Math.max(0, Math.round((Number(el.dataset.until) - Date.now() - skew) / 1000));
      const h = Math.floor(s / 3600), m = Math.floor((s % 3600) / 60);
      el.textContent = s === 0 ? "time is over" :
        (h ? h + " h " + m + " min" : m ? m + " min" : s + " s") + " left";
    }
  }

  let lastList = "";
  function swap(html) {
    if (inbox()) { // The list is asked for again and again: nothing new keeps focus and scroll.
      const list = html.replace(/data-now="\d+"/, "");
      if (list === lastList) return;
      lastList = list;
    }
    const next = new DOMParser().parseFromString(html, "text/html").body;
    const before = card(), after = next.querySelector("[data-live]");
    const same = before && after && before.dataset.revision === after.dataset.revision &&
      before.dataset.approval === after.dataset.approval;
    if (same && !frozen && !sending) return; // Nothing new: keep the note being typed and the focus.
    const ended = before && after && before.dataset.state === "pending" && after.dataset.state !== "pending";
    main.replaceChildren(...next.childNodes);
    readClock();
    localise();
    tick();
    const result = main.querySelector("#result") || main.querySelector("#notice");
    if (result && (ended || sending)) result.focus();
  }

  async function refresh(loud) {
    if (sending) return;
    const mine = ++asked;
    if (loud) reading.hidden = false;
    try {
      const res = await fetch(location.href.split("#")[0], {
        headers: { "X-Part": "main" }, cache: "no-store", credentials: "same-origin",
        redirect: "manual", signal: AbortSignal.timeout(15000),
      });
      const text = await res.text();
      if (mine !== asked) return;
      if (res.type === "opaqueredirect") { location.reload(); return; }
      if (res.status >= 500) throw new Error("unavailable");
      swap(text);
      frozen = false;
      trouble.hidden = true;
    } catch (_) {
      if (mine !== asked) return;
      showTrouble(frozen
        ? "Still no connection. It is not known whether your answer was recorded; nothing else can be pressed until the record was read."
        : "No connection to the service. What you see may be out of date.");
    } finally {
      if (mine === asked) reading.hidden = true;
    }
  }

  async function decide(form, button) {
    sending = true;
    const mine = ++asked;
    const data = new URLSearchParams(new FormData(form));
    data.set("decision", button.value);
    setDisabled(true);
    const label = button.textContent;
    button.textContent = button.dataset.doing;
    button.setAttribute("aria-busy", "true");
    try {
      const res = await fetch(form.action, {
        method: "POST", body: data, headers: { "X-Part": "main" },
        credentials: "same-origin", redirect: "manual", signal: AbortSignal.timeout(20000),
      });
      const text = await res.text();
      if (mine !== asked) return;
      if (res.type === "opaqueredirect") { location.reload(); return; }
      swap(text);
      trouble.hidden = true;
    } catch (_) {
      // The answer was lost, which says nothing about the record.
      frozen = true;
      button.textContent = label;
      showTrouble("The connection was lost. It is not known whether your answer was recorded; nothing else can be pressed until the record was read.");
    } finally {
      sending = false;
      if (frozen) refresh(true);
    }
  }

  document.addEventListener("submit", (e) => {
    if (e.target.id !== "decide" || !e.submitter) return;
    e.preventDefault();
    if (sending || frozen) return;
    decide(e.target, e.submitter);
  });
  document.getElementById("retry").addEventListener("click", () => refresh(true));

  function watch() {
    const c = card();
    if (!c || c.dataset.state !== "pending" || !window.EventSource || events) return;
    events = new EventSource(c.dataset.live + "/events");
    events.addEventListener("open", () => { eventsWork = true; });
    events.addEventListener("change", () => refresh(false));
    events.addEventListener("error", () => { eventsWork = false; });
    events.addEventListener("end", () => { events.close(); events = null; eventsWork = false; refresh(false); });
  }

  setInterval(() => {
    tick();
    if (document.visibilityState !== "visible") return;
    const c = card();
    if (inbox() || (c && c.dataset.state === "pending" && !eventsWork)) refresh(false);
  }, pollEvery);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible" && (card() || inbox())) refresh(false);
  });
  window.addEventListener("pageshow", (e) => { if (e.persisted) refresh(true); });

  // A one-time code comes in the fragment, which no server and no log sees; it
  // leaves the address bar at once and waits for a press.
  const signin = document.getElementById("signin");
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) {
    history.replaceState(null, "", location.pathname + location.search);
    if (signin) {
      const field = document.getElementById("code");
      field.value = code;
      const name = document.getElementById("name");
      if (name) name.focus(); else signin.querySelector("button").focus();
    }
  }

  readClock();
  localise();
  tick();
  watch();
  const result = document.getElementById("result");
  if (result) result.focus();
})();
