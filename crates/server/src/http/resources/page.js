"use strict";
const DRAWN_MOST = 3000;
const POLL_MS = 1000;
const $ = (id) => document.getElementById(id);

const KO = {
  tagline: "먼저 온 순서대로. 한 자리는 정확히 한 사람에게만 갑니다.",
  summary: "좌석이 많아 그림은 생략합니다. 위의 숫자는 실시간입니다.",
  seats: "좌석", isFree: "빈자리", isHeld: "결제 중", isSold: "판매됨", isMine: "이 페이지에서 예약함",
  take: "임의의 사용자로 예약하기", ten: "열 명이 한꺼번에", again: "같은 사용자로 다시",
  own: "이 페이지에서 예약한 좌석", nothing: "아직 없습니다. 취소한 좌석은 곧바로 다시 판매됩니다.",
  answer: "서버의 응답", press: "버튼을 누르면 서버의 응답이 여기에 나타납니다.",
  terminal: "터미널에서", terminalWhy: "두 번째 줄을 두 번 실행해 보세요. 같은 키는 예약 한 건이 되고, 응답도 같습니다.",
  docs: "API 문서", events: "이벤트", seatsLink: "좌석 목록", ready: "준비 상태", metrics: "지표",
};
const EN = {};
for (const e of document.querySelectorAll("[data-t]")) EN[e.dataset.t] = e.textContent;
EN.seats = "Seats";
// Words that are not in the page from the start.
const SAID = {
  en: {
    of: (total, sold, held) => `free of ${total} · ${sold} sold${held ? ` · ${held} on hold` : ""}`, none: "there is no event 1", lost: "the server does not answer",
    open: "open, live", scheduled: "not open yet", paused: "paused", closed: "closed",
    sold_out: "sold out", held_out: "all taken, some on hold", full: (s) => `too many people: again in ${s} s`,
    cannot: { lost: "No answer", none: "No event 1", scheduled: "Not open yet", paused: "Paused", closed: "Closed", sold_out: "Sold out", held_out: "Nothing free right now" },
    cancel: "Cancel", cancelSeat: (seat) => `Cancel seat ${seat}`, copy: "Copy", copied: "Copied",
    asked: (n) => `${n} users asked at the same time`, last: "the last answer",
    look: "Look at the seats", reserve: "Take a seat", mine: "See what this user has", cancelLine: "Cancel it (with the reservationId of your answer)",
  },
  ko: {
    of: (total, sold, held) => `자리 남음 · 전체 ${total} · 판매 ${sold}${held ? ` · 결제 중 ${held}` : ""}`, none: "1번 이벤트가 없습니다", lost: "서버가 응답하지 않습니다",
    open: "판매 중 · 실시간", scheduled: "판매 전", paused: "일시 중지", closed: "판매 종료",
    sold_out: "매진", held_out: "남은 좌석 모두 결제 중", full: (s) => `접속자가 많습니다: ${s}초 뒤에 다시`,
    cannot: { lost: "응답 없음", none: "1번 이벤트 없음", scheduled: "판매 전입니다", paused: "일시 중지되었습니다", closed: "판매가 끝났습니다", sold_out: "매진되었습니다", held_out: "지금은 빈자리가 없습니다" },
    cancel: "취소", cancelSeat: (seat) => `${seat} 좌석 취소`, copy: "복사", copied: "복사됨",
    asked: (n) => `${n}명이 동시에 요청했습니다`, last: "마지막 응답",
    look: "좌석 보기", reserve: "좌석 예약", mine: "이 사용자의 예약 보기", cancelLine: "취소 (응답의 reservationId를 넣으세요)",
  },
};

// What was chosen on the other pages counts here too. A browser may forbid the memory.
function recall(name) {
  try { return localStorage.getItem("tickettock." + name); } catch { return null; }
}
function remember(name, value) {
  try { localStorage.setItem("tickettock." + name, value); } catch { /* Until the page is closed. */ }
}
const theme = recall("theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;

let language = recall("language") ?? ((navigator.language || "en").toLowerCase().startsWith("ko") ? "ko" : "en");
if (!SAID[language]) language = "en";
const say = (key, ...facts) => {
  const said = SAID[language][key];
  return typeof said === "function" ? said(...facts) : said;
};

// What is known of the event, and what was taken here: seat id -> { user, reservationId, name, at }.
let event = null, seats = null, etag = null, trouble = null, last = null, ticks = 0, busy = false;
// The server was too busy: until then it is not asked again, to reserve or to look.
let reserveFrom = 0, lookFrom = 0;
const own = new Map();
const cells = [];

function speak() {
  const words = language === "ko" ? KO : EN;
  document.documentElement.lang = language;
  for (const e of document.querySelectorAll("[data-t]")) e.textContent = words[e.dataset.t];
  for (const e of document.querySelectorAll("[data-l]")) e.setAttribute("aria-label", words[e.dataset.l]);
  $("language").textContent = language === "ko" ? "English" : "한국어";
  $("language").lang = language === "ko" ? "en" : "ko";
  show(); showOwn(); showLines();
}

// How many seats are free, on hold and sold. Of an event that is too large to draw only the free ones are known.
function counted() {
  const total = event.seatCount;
  if (!seats) return { total, free: event.remainingSeats, held: 0, sold: total - event.remainingSeats };
  const held = seats.filter((s) => s.state === "held").length;
  const free = seats.filter((s) => !s.status).length;
  return { total, free, held, sold: total - free - held };
}

// One word for what can be done here: the state of the event, or why nothing is to be had.
function standing() {
  if (waits(reserveFrom)) return "full";
  if (trouble || !event) return trouble;
  if (event.state !== "open") return event.state;
  const { free, held } = counted();
  return free > 0 ? "open" : held > 0 ? "held_out" : "sold_out";
}

// Seconds that are left until a time.
function waits(from) {
  return Math.max(0, Math.ceil((from - performance.now()) / 1000));
}

// When to ask again after this answer: as it says, or now.
function askAgain(response) {
  const refused = response.status === 503 || response.status === 429;
  return refused ? performance.now() + 1000 * (Number(response.headers.get("Retry-After")) || 1) : 0;
}

function showButtons() {
  const now = standing();
  const words = language === "ko" ? KO : EN;
  $("take").textContent = now === "open" || !now ? words.take : now === "full" ? say(now, waits(reserveFrom)) : SAID[language].cannot[now];
  $("take").disabled = $("ten").disabled = busy || now !== "open";
  $("again").disabled = busy || !last || now === "full" || Boolean(trouble);
}

function show() {
  const state = $("state"), now = standing();
  const word = now ? say(now, waits(reserveFrom)) : "";
  if (state.textContent !== word) state.textContent = word;
  state.classList.toggle("off", now !== "open");
  showButtons();
  if (!event) return;
  $("event").textContent = event.name;
  const { total, free, held, sold } = counted();
  const number = (n) => n.toLocaleString(language);
  $("free").textContent = number(free);
  $("of").textContent = say("of", number(total), number(sold), held ? number(held) : "");
  $("bar").style.width = total ? `${(100 * sold) / total}%` : "0";
  $("bar-held").style.width = total ? `${(100 * held) / total}%` : "0";
  const drawn = total <= DRAWN_MOST;
  $("summary").hidden = drawn;
  $("seats").hidden = $("key").hidden = !drawn || total === 0;
  if (drawn && seats) draw();
}

function draw() {
  const list = $("seats");
  if (cells.length !== seats.length) {
    cells.length = 0;
    const [cell, gap, text] = seats.length <= 60 ? [54, 8, 15] : seats.length <= 600 ? [38, 5, 11] : [15, 3, 0];
    list.style.setProperty("--cell", `${cell}px`);
    list.style.setProperty("--gap", `${gap}px`);
    list.style.setProperty("--text", `${text}px`);
    const many = seats.length > 60;
    list.classList.toggle("many", many);
    $("columns").classList.toggle("many", many);
    if (many) list.tabIndex = 0;
    list.replaceChildren(...seats.map((seat) => {
      const place = document.createElement("li");
      const name = document.createElement("span");
      name.textContent = seat.name;
      const state = document.createElement("span");
      state.className = "aside";
      place.append(name, state);
      cells.push({ place, state, shown: "" });
      return place;
    }));
  }
  const words = language === "ko" ? KO : EN;
  seats.forEach((seat, i) => {
    const kind = !seat.status ? "" : own.has(seat.id) ? "mine" : seat.state === "held" ? "held" : "sold";
    const word = words[{ "": "isFree", mine: "isMine", held: "isHeld", sold: "isSold" }[kind]];
    if (cells[i].shown === kind + word) return;
    cells[i].shown = kind + word;
    cells[i].place.className = kind;
    cells[i].place.title = `${seat.name} · ${word}`;
    cells[i].state.textContent = ` ${word}`;
  });
}

function showOwn() {
  $("nothing").hidden = own.size > 0;
  $("own").replaceChildren(...[...own.entries()].sort(([a], [b]) => a - b).map(([id, sale]) => {
    const row = document.createElement("li"), what = document.createElement("span");
    const seat = document.createElement("b"), user = document.createElement("code"), cancel = document.createElement("button");
    seat.textContent = sale.name;
    user.textContent = `${sale.user} · ${sale.reservationId}`;
    what.append(seat, user);
    cancel.type = "button";
    cancel.className = "small";
    cancel.textContent = say("cancel");
    cancel.setAttribute("aria-label", say("cancelSeat", sale.name));
    cancel.addEventListener("click", () => giveBack(id, sale, cancel));
    row.append(what, cancel);
    return row;
  }));
}

function showLines() {
  const at = location.origin;
  const lines = [
    ["look", `curl ${at}/api/v1/seats`],
    ["reserve", `curl ${at}/api/v1/seats/reservation/fcfs \\\n  -H 'X-User-Id: alice' -H 'Idempotency-Key: my-first' \\\n  -H 'Content-Type: application/json' \\\n  -d '{"userName":"Alice","phone":"010-1234-5678"}'`],
    ["mine", `curl -H 'X-User-Id: alice' \\\n  ${at}/api/v1/reservations`],
    ["cancelLine", `curl -X DELETE -H 'X-User-Id: alice' \\\n  ${at}/api/v1/reservations/e1-2`],
  ];
  $("lines").replaceChildren(...lines.map(([title, line]) => {
    const box = document.createElement("div"), head = document.createElement("div"), name = document.createElement("span");
    const copy = document.createElement("button"), code = document.createElement("code");
    box.className = "line";
    head.className = "head";
    name.textContent = say(title);
    code.textContent = line;
    // Longer than a phone is wide: it is pushed sideways, by the keys too.
    code.tabIndex = 0;
    copy.type = "button";
    copy.className = "small";
    copy.textContent = say("copy");
    copy.setAttribute("aria-label", `${say("copy")}: ${say(title)}`);
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(line);
      } catch {
        // Over plain HTTP browsers keep the clipboard to themselves: the line is ready to be copied by hand.
        return getSelection().selectAllChildren(code);
      }
      copy.textContent = say("copied");
      setTimeout(() => { copy.textContent = say("copy"); }, 1500);
    });
    head.append(name, copy);
    box.append(head, code);
    return box;
  }));
}

function showAnswer(meta, body) {
  const head = document.createElement("span");
  head.className = "meta";
  head.textContent = `${meta}\n`;
  $("answer").replaceChildren(head, document.createTextNode(JSON.stringify(body, null, 2)));
}

function somebody() {
  const bytes = crypto.getRandomValues(new Uint8Array(4));
  return `guest-${[...bytes].map((b) => b.toString(16).padStart(2, "0")).join("")}`;
}

async function ask(method, path, user, body) {
  const headers = { "X-User-Id": user };
  if (body) headers["Content-Type"] = "application/json";
  try {
    const response = await fetch(path, { method, headers, body: body && JSON.stringify(body) });
    reserveFrom = Math.max(reserveFrom, askAgain(response));
    return { line: `${method} ${path}\nX-User-Id: ${user}\n→ ${response.status}`, status: response.status, body: await response.json() };
  } catch {
    return { line: `${method} ${path}\nX-User-Id: ${user}\n→ ${say("lost")}`, status: 0, body: null };
  }
}

async function reserve(user) {
  last = user;
  const answer = await ask("POST", "/api/v1/seats/reservation/fcfs", user, { userName: "Guest", phone: "+82 10-1234-5678" });
  const { seat, reservationId } = answer.body || {};
  if (answer.status === 200) own.set(seat.id, { user, reservationId, name: seat.name, at: performance.now() });
  return answer;
}

async function giveBack(id, sale, button) {
  button.disabled = true;
  const answer = await ask("DELETE", `/api/v1/reservations/${sale.reservationId}`, sale.user);
  if (answer.status === 200 || answer.status === 404) own.delete(id);
  showAnswer(answer.line, answer.body);
  showOwn();
  $("take").focus();
  await look();
}

async function press(users) {
  busy = true;
  showButtons();
  const answers = await Promise.all(users.map(reserve));
  const final = answers[answers.length - 1];
  if (answers.length === 1) {
    showAnswer(final.line, final.body);
  } else {
    const ended = {};
    for (const a of answers) {
      const word = a.status === 200 ? "reserved" : a.body?.reason || "no_answer";
      ended[word] = (ended[word] || 0) + 1;
    }
    const counted = Object.entries(ended).map(([word, n]) => `${word} ${n}`).join(", ");
    showAnswer(`${say("asked", answers.length)}: ${counted}\n\n${say("last")}:\n${final.line}`, final.body);
  }
  busy = false;
  showOwn();
  await look();
}

async function look() {
  if (waits(lookFrom)) return show();
  try {
    if (!event || event.seatCount > DRAWN_MOST || ticks++ % 5 === 0) {
      const response = await fetch("/api/v1/events/1", { cache: "no-store" });
      lookFrom = askAgain(response);
      if (lookFrom) return show();
      event = response.ok ? (await response.json()).event : null;
      trouble = response.ok ? null : response.status === 404 ? "none" : "lost";
    }
    if (event && event.seatCount <= DRAWN_MOST) {
      const response = await fetch("/api/v1/seats", { cache: "no-store", headers: etag ? { "If-None-Match": etag } : {} });
      lookFrom = askAgain(response);
      if (lookFrom) return show();
      if (response.status === 200) {
        seats = (await response.json()).seats;
        etag = response.headers.get("ETag");
        // A seat that came back, cancelled elsewhere, is not ours any more. The list is at most 250 ms
        // behind, so it may not know yet of a seat that was taken just now.
        const known = performance.now() - 1000;
        for (const seat of seats) if (!seat.status && own.get(seat.id)?.at < known && own.delete(seat.id)) showOwn();
      }
      trouble = response.status === 200 || response.status === 304 ? null : "lost";
    }
  } catch {
    trouble = "lost";
    ticks = 0;
  }
  show();
}

/** The page is shown in one piece: what is drawn late would push the rest down. */
const ready = () => document.body.classList.add("ready");

async function keepLooking() {
  if (!document.hidden) await look().finally(ready);
  setTimeout(keepLooking, POLL_MS);
}

$("language").addEventListener("click", () => { language = language === "ko" ? "en" : "ko"; remember("language", language); speak(); });
$("take").addEventListener("click", () => press([somebody()]));
$("ten").addEventListener("click", () => press(Array.from({ length: 10 }, somebody)));
$("again").addEventListener("click", () => press([last]));
speak();
keepLooking();
// The server is slow, or away: what there is.
setTimeout(ready, 2_000);
