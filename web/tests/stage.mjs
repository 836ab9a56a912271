// What the pictures show: a sale in the middle, one that opens later, a waiting line, one that is sold out, a stadium,
// a hotel.

import { HALL } from "./shop.mjs";

export async function stage(shop) {
  const now = Date.now();
  /** An evening in Seoul, so many days from now. */
  const evening = (days) => ({ startsAt: `${new Date(now + days * 86_400_000).toISOString().slice(0, 10)}T10:30:00Z`, timeZone: "Asia/Seoul" });
  const sale = await shop.event({ name: "봄밤 콘서트 · Spring Night", seats: HALL, maxPerUser: 4, ...evening(40), place: "올림픽홀, 서울 · Olympic Hall, Seoul" });
  for (let i = 0; i < 150; i += 1) await shop.buy(sale.id, `crowd-${i}`);
  for (const seat of [160, 161, 190, 214, 240, 241, 300, 301, 330, 352, 400, 401, 402, 470]) await shop.choose(sale.id, seat, `chooser-${seat}`);
  await shop.hold({ eventId: sale.id, seatIds: [200, 201, 202] }, "holder-1");
  await shop.hold({ eventId: sale.id, seatIds: [260, 261] }, "holder-2");
  const soon = await shop.event({ name: "여름 페스티벌 · Summer Festival", seats: HALL, maxPerUser: 2, ...evening(90), place: "한강공원, 서울 · Hangang Park, Seoul", opensAt: new Date(now + 8_024_000).toISOString() });
  const room = await shop.event({ name: "겨울 오페라 · Winter Opera", seats: HALL, maxPerUser: 2, waitingRoom: { maxConcurrent: 1 } });
  await shop.call("POST", `/api/v1/events/${room.id}/queue`, { user: "first", body: {} });
  await shop.call("POST", `/api/v1/events/${room.id}/queue/enter`, { user: "first", body: {} });
  for (let i = 0; i < 40; i += 1) await shop.call("POST", `/api/v1/events/${room.id}/queue`, { user: `waits-${i}`, body: {} });
  const small = await shop.event({ name: "실내악의 밤 · Chamber Music", seats: { sections: [{ name: "홀 · Hall", rows: [{ name: "A", seats: 8 }, { name: "B", seats: 8 }] }] } });
  for (let i = 0; i < 16; i += 1) await shop.buy(small.id, `all-${i}`);
  const stadium = await shop.event({ name: "월드컵 경기장 · Stadium", seats: 40_000, maxPerUser: 4 });
  for (let i = 0; i < 60; i += 1) await shop.choose(stadium.id, 1 + i * 613, `fan-${i}`);
  // The demo's hotel.
  const [double] = (await shop.call("GET", "/api/v1/room-types")).roomTypes;
  const day = (n) => new Date(now + n * 86_400_000).toISOString().slice(0, 10);
  for (let i = 0; i < 60; i += 1) {
    const from = 1 + ((i * 5) % 23);
    const { hold } = await shop.hold({ roomTypeId: double.id, checkIn: day(from), checkOut: day(from + 1 + (i % 3)) }, `lodger-${i}`);
    if (hold && i % 4) await shop.call("POST", `/api/v1/holds/${hold.holdId}/confirm`, { user: `lodger-${i}` });
  }
  return { sale, soon, room, small, stadium, double, day };
}

/** An event that people gather for. One joined before the draw was announced, and comes before everybody else. */
export async function gathering(shop) {
  const opensAt = new Date(Date.now() + 8_024_000).toISOString();
  const event = await shop.event({ name: "가을 뮤지컬 · Autumn Musical", seats: HALL, maxPerUser: 2, opensAt, waitingRoom: { maxConcurrent: 1, idleTimeout: 600 } });
  const join = (user) => shop.call("POST", `/api/v1/events/${event.id}/queue`, { user, body: {} });
  await join("first");
  const gatherFrom = new Date(Date.now() - 60_000).toISOString();
  await shop.call("PATCH", `/api/v1/admin/events/${event.id}`, { body: { waitingRoom: { gatherFrom } } });
  for (let i = 0; i < 40; i += 1) await join(`gathers-${i}`);
  return event;
}
