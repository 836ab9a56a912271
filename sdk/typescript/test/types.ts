/** Never run: that it compiles is the test. A typo in a field or a reason must not. */

import createClient from "openapi-fetch";

import { Tickettock, type paths } from "../src/index.js";

export async function typed(url: string): Promise<void> {
  const client = createClient<paths>({ baseUrl: url });
  const { data, error } = await client.POST("/api/v1/events/{eventId}/seats/reservation/fcfs", {
    params: { path: { eventId: 1 }, header: { "X-User-Id": "alice" } },
    body: { userName: "Alice", phone: "010-1234-5678" },
  });
  if (data) {
    const name: string = data.seat.name;
    const success: true = data.success;
    // @ts-expect-error the field is `name`
    const typo = data.seat.nmae;
    // @ts-expect-error a success has no reason
    const reason = data.reason;
    console.log(name, success, typo, reason);
  } else if (error.reason === "sold_out") {
    const success: false = error.success;
    // @ts-expect-error a refusal has no reservation id
    const id = error.reservationId;
    console.log(success, id);
    // @ts-expect-error the reason is `sold_out`
  } else if (error.reason === "soldout") {
    console.log("never");
    // @ts-expect-error this operation never says so
  } else if (error.reason === "hold_expired") {
    console.log("never");
  }
  // @ts-expect-error there is no such path
  await client.GET("/api/v1/evnets");

  const shop = new Tickettock({ url, user: "alice" });
  const held = await shop.hold({ eventId: 2, seatIds: [1], metadata: { order: "A-1", gift: true } });
  await shop.reserve(2, { email: "alice@example.com", metadata: { order: "A-1" } });
  // @ts-expect-error metadata is plain
  await shop.reserve(2, { metadata: { order: { id: 1 } } });
  if (held.ok) {
    const end: string = held.data.hold.expiresAt;
    const order: string | number | boolean | undefined = held.data.hold.metadata?.order;
    await shop.release(held.data.hold.holdId, undefined, `not ${order}`);
    // @ts-expect-error that is the word of another dialect
    const seed = held.data.hold.expiredAt;
    console.log(end, seed);
  } else if (held.reason === "not_available") {
    console.log(held.refusal.seatIds);
    // @ts-expect-error reasons are written in lower case
  } else if (held.reason === "RESERVATION_NOT_AVAILABLE") {
    console.log("never");
  }
}
