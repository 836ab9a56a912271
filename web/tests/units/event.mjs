// An event of four seats that one may have two of, as a server would tell it.

import { answers, settled, told } from "./page.mjs";

export const ID = 7;
export const PATH = `/api/v1/events/${ID}`;
export const OWN = { holds: "GET /api/v1/holds", bought: "GET /api/v1/reservations" };
export const ANY = `POST ${PATH}/seats/reservation/fcfs`;
export const HOLD = "POST /api/v1/holds";
export const QUEUE = `GET ${PATH}/queue`;
export const BUYER = { userName: "Kim Minji", phone: "010-1234-5678" };

export const at = (ms) => new Date(Date.now() + ms).toISOString();
const event = { id: ID, name: "Concert", state: "open", opensAt: null, seatCount: 4, maxPerUser: 2, waitingRoom: false };
const layout = { seatCount: 4, sections: [{ name: null, rows: [{ name: "A", firstSeat: 1, seats: 4 }] }] };
const seat = (id) => ({ id, name: `A${id}`, state: "free" });

export const bought = (id) => ({ reservationId: `r-${id}`, eventId: ID, seat: { id, name: `A${id}` }, createdAt: at(0), state: "confirmed" });
export const held = (...seatIds) => ({ holdId: `h-${seatIds.join("-")}`, eventId: ID, seatIds, createdAt: at(0), expiresAt: at(600_000) });

/** What the viewer has, from now on. */
export function has({ holds = [], reservations = [] } = {}) {
  answers[OWN.holds] = told({ success: true, holds });
  answers[OWN.bought] = told({ success: true, reservations, next: null });
}

export function on(more = {}) {
  answers[`GET ${PATH}`] = told({ success: true, event: { ...event, ...more } });
  answers[`GET ${PATH}/layout`] = told({ success: true, layout });
  answers[`GET ${PATH}/seats`] = told({ success: true, seats: [1, 2, 3, 4].map(seat) });
  has();
}

/** A page that has begun; `done` ends it. */
export async function opened({ Sale }, more = {}) {
  on(more);
  const sale = new Sale(ID);
  await settled();
  return sale;
}
