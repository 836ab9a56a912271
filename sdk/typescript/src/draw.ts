/**
 * The draw of those who gathered before an opening, calculated again, so that anybody can check it. Uses WebCrypto,
 * which browsers have only on `https` pages and on localhost.
 */

/** Numbers in line that were drawn begin here; smaller ones are of those who joined before the draw was announced. */
export const DRAWN_FROM = 1_000_000_000_000_000;

/** The number in line that the draw gives a user: the first 13 hexadecimal digits of the HMAC, and `DRAWN_FROM`. */
export async function drawnNumber(seedHex: string, eventId: number, user: string): Promise<number> {
  const key = await crypto.subtle.importKey("raw", bytes(seedHex), { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const mac = await crypto.subtle.sign("HMAC", key, new TextEncoder().encode(`${eventId}:${user}`));
  return DRAWN_FROM + Number.parseInt(hex(mac).slice(0, 13), 16);
}

/** What is published of a seed before the opening: no other seed has it. */
export async function commitmentOf(seedHex: string): Promise<string> {
  return hex(await crypto.subtle.digest("SHA-256", bytes(seedHex)));
}

function bytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text.match(/../g) ?? [], (two) => Number.parseInt(two, 16));
}

function hex(buffer: ArrayBuffer): string {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
