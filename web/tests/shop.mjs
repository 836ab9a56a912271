// The operator's and other buyers' side, over the API.

export class Shop {
  constructor(base, token) {
    this.base = base;
    this.token = token;
  }

  async call(method, path, { user, body, headers = {} } = {}) {
    const answer = await fetch(this.base + path, {
      method,
      headers: {
        ...(user ? { "X-User-Id": user } : {}),
        ...(path.includes("/admin/") ? { Authorization: `Bearer ${this.token}` } : {}),
        ...(body ? { "Content-Type": "application/json" } : {}),
        ...headers,
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: answer.status, ...(await answer.json().catch(() => ({}))) };
  }

  async event(wanted) {
    const { event } = await this.call("POST", "/api/v1/admin/events", { body: wanted });
    if (!event) throw new Error(`no event: ${JSON.stringify(wanted)}`);
    return event;
  }

  async roomType(wanted) {
    const { roomType } = await this.call("POST", "/api/v1/admin/room-types", { body: wanted });
    return roomType;
  }

  buy(eventId, user) {
    const phone = `010-${String(1000 + (Math.abs(hash(user)) % 9000))}-${String(1000 + (Math.abs(hash(user + "x")) % 9000))}`;
    return this.call("POST", `/api/v1/events/${eventId}/seats/reservation/fcfs`, { user, body: { userName: user, phone } });
  }

  choose(eventId, seat, user) {
    const body = { userName: user, phone: "010-1234-5678" };
    return this.call("POST", `/api/v1/events/${eventId}/seats/${seat}/reservation`, { user, body });
  }

  hold(body, user) {
    return this.call("POST", "/api/v1/holds", { user, body: { ...body, clientHoldKey: crypto.randomUUID() } });
  }
}

function hash(text) {
  let value = 7;
  for (const sign of text) value = (value * 31 + sign.codePointAt(0)) | 0;
  return value;
}

/** Two sections with a few rows: what takes time per seat is quick here. */
export const ROOM = {
  sections: [
    { name: "1층 · Stalls", rows: ["A", "B", "C"].map((name, i) => ({ name, seats: 10 + i })) },
    { name: "2층 · Balcony", rows: [{ name: "A", seats: 12 }] },
  ],
};

export const HALL = {
  sections: [
    { name: "1층 · Stalls", rows: ["A", "B", "C", "D", "E", "F", "G", "H", "J", "K", "L", "M"].map((name, i) => ({ name, seats: 22 + i, accessible: name === "M" ? [1, 2, 32, 33] : [] })) },
    { name: "2층 · Balcony", rows: ["A", "B", "C", "D", "E", "F"].map((name) => ({ name, seats: 30 })) },
  ],
};
