/**
 * The check of a draw. Before the opening the browser keeps the commitment that the server has published; after it the
 * server shows the seed. Whether both belong together, and to the viewer's number, is found out here.
 */

import { commitmentOf, drawnNumber, DRAWN_FROM } from "@sdk/draw";

import { recall, remember } from "../../kit/remembered";
import type { Sale } from "../sale.svelte";

export interface Draw {
  eventId: number;
  seed: string;
  commitment: string;
  user: string;
  number: number | null;
}

export interface Findings {
  /** `fits`: the commitment is of now; nothing was kept from before the opening. */
  seed: "kept" | "fits" | "differs";
  number: "drawn" | "before" | "behind" | "differs" | "none";
}

/** Drawn numbers have 52 bits; those of who joined after the opening are higher. */
const BEHIND = DRAWN_FROM + 2 ** 52;

/** A server that begins anew gives ids anew; when people may gather is fixed as soon as they do. */
const nameOf = (what: string, sale: Sale, ...more: string[]) => [what, sale.id, sale.event?.waitingRoomSettings?.gatherFrom, ...more].join(".");
const commitmentName = (sale: Sale) => nameOf("commitment", sale);
export const kept = (sale: Sale): string | null => recall(commitmentName(sale));

/** What the server has bound itself to. The first one stays: while people gather it cannot change any more. */
export async function keep(sale: Sale): Promise<void> {
  if (kept(sale)) return;
  const event = await sale.read();
  if (event?.state === "scheduled" && event.drawCommitment) remember(commitmentName(sale), event.drawCommitment);
}

const numberName = (sale: Sale, user: string) => nameOf("number", sale, user);
/** The server does not say it any more to those inside. */
export const keepNumber = (sale: Sale, user: string, number: number) => remember(numberName(sale, user), String(number));
export const keptNumber = (sale: Sale, user: string): number | null => Number(recall(numberName(sale, user))) || null;

/** Elsewhere than on `https` pages and on localhost, browsers do not calculate it. */
export const canCheck = (): boolean => crypto.subtle !== undefined;

/** `before`: the commitment from before the opening. */
export async function check(draw: Draw, before: string | null): Promise<Findings> {
  const commitment = await commitmentOf(draw.seed);
  const fits = commitment === draw.commitment && (before === null || before === commitment);
  return { seed: !fits ? "differs" : before ? "kept" : "fits", number: await placeOf(draw) };
}

async function placeOf({ seed, eventId, user, number }: Draw): Promise<Findings["number"]> {
  if (number === null) return "none";
  if (!isDrawn(number)) return number < BEHIND ? "before" : "behind";
  return number === (await drawnNumber(seed, eventId, user)) ? "drawn" : "differs";
}

/** The same in a terminal. The bytes of the seed are octal: every `printf` reads those. */
export function commands({ eventId, user, seed }: Draw): string {
  const text = `${eventId}:${user}`;
  // What `printf` or the shell would read otherwise.
  const said = /^[\w.:@+-]+$/.test(text) ? `'${text}'` : `%s '${text.replaceAll("'", "'\\''")}'`;
  const octal = seed.replace(/../g, (two) => `\\${Number.parseInt(two, 16).toString(8).padStart(3, "0")}`);
  return `printf ${said} | openssl dgst -sha256 -mac HMAC -macopt hexkey:${seed}\nprintf '${octal}' | openssl dgst -sha256`;
}

/** As the first of these commands writes it. */
export const digits = (number: number): string => (number - DRAWN_FROM).toString(16).padStart(13, "0");
/** Whether it is of a draw at all. */
export const isDrawn = (number: number | null): number is number => number !== null && number >= DRAWN_FROM && number < BEHIND;
