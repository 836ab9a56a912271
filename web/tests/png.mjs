// Small pictures of pages: PNG with a palette, and the animated kind (APNG), of which a frame has only what changed.

import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** One entry of the palette is left for "as before". */
const COLOURS = 255;

/** Pixels of a PNG as Chromium writes it: 8 bits, RGB or RGBA, not interlaced. One number per pixel. */
export function decode(file) {
  const [width, height] = [file.readUInt32BE(16), file.readUInt32BE(20)];
  const bytes = { 2: 3, 6: 4 }[file[25]];
  if (file[24] !== 8 || !bytes || file[28] !== 0) throw new Error("not a PNG of 8-bit RGB");
  const data = [];
  for (let at = 8; at < file.length; ) {
    const length = file.readUInt32BE(at);
    if (file.toString("latin1", at + 4, at + 8) === "IDAT") data.push(file.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  const raw = inflateSync(Buffer.concat(data));
  const line = width * bytes;
  const rows = new Uint8Array(height * line);
  for (let y = 0, from = 0, to = 0; y < height; y += 1) {
    const filter = raw[from++];
    for (let x = 0; x < line; x += 1, from += 1, to += 1) {
      const left = x < bytes ? 0 : rows[to - bytes];
      const up = y === 0 ? 0 : rows[to - line];
      const corner = x < bytes || y === 0 ? 0 : rows[to - line - bytes];
      rows[to] = raw[from] + [0, left, up, (left + up) >> 1, filter === 4 ? nearest(left, up, corner) : 0][filter];
    }
  }
  const pixels = new Uint32Array(width * height);
  for (let i = 0; i < pixels.length; i += 1) pixels[i] = (rows[i * bytes] << 16) | (rows[i * bytes + 1] << 8) | rows[i * bytes + 2];
  return { width, height, pixels };
}

/** Whichever neighbour is nearest to their sum: the fifth filter of PNG. */
function nearest(left, up, corner) {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

/** Colours that differ by less look the same: a palette without them has room for rare ones, such as a single word's. */
const NEAR = 150;

const difference = (one, other) => [16, 8, 0].reduce((sum, shift) => sum + (((one >> shift) & 255) - ((other >> shift) & 255)) ** 2, 0);

/** The most frequent colours that differ; every other one becomes the nearest of them. */
function palette(pictures) {
  const counts = new Map();
  for (const { pixels } of pictures) for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const colours = [];
  for (const [colour] of [...counts].sort((a, b) => b[1] - a[1])) {
    if (colours.length < COLOURS && colours.every((other) => difference(colour, other) > NEAR)) colours.push(colour);
  }
  const index = new Map(colours.map((colour, i) => [colour, i]));
  for (const colour of counts.keys()) {
    if (index.has(colour)) continue;
    let [best, least] = [0, Infinity];
    for (let i = 0; i < colours.length; i += 1) {
      const distance = difference(colour, colours[i]);
      if (distance < least) [best, least] = [i, distance];
    }
    index.set(colour, best);
  }
  return { colours, index };
}

function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

const numbers = (...values) => {
  const buffer = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => buffer.writeUInt32BE(value, i * 4));
  return buffer;
};

/** The smallest box around what changed: x, y, width, height. */
function changed({ width, height }, before, now) {
  let [x0, y0, x1, y1] = [width, height, -1, -1];
  for (let y = 0, i = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, i += 1) {
      if (before[i] === now[i]) continue;
      [x0, y0, x1, y1] = [Math.min(x0, x), Math.min(y0, y), Math.max(x1, x), Math.max(y1, y)];
    }
  }
  return x1 < 0 ? [0, 0, 1, 1] : [x0, y0, x1 - x0 + 1, y1 - y0 + 1];
}

function packed(picture, before, now, [x0, y0, width, height]) {
  const raw = Buffer.alloc(height * (width + 1));
  for (let y = 0, to = 0; y < height; y += 1) {
    to += 1;
    for (let x = 0; x < width; x += 1, to += 1) {
      const i = (y0 + y) * picture.width + x0 + x;
      raw[to] = before && before[i] === now[i] ? COLOURS : now[i];
    }
  }
  return deflateSync(raw, { level: 9 });
}

/** Pictures of one size and how long each is shown, in milliseconds, as one file. */
export function encode(pictures, delays = []) {
  const { colours, index } = palette(pictures);
  const frames = pictures.map(({ pixels }) => Uint8Array.from(pixels, (pixel) => index.get(pixel)));
  const { width, height } = pictures[0];
  const animated = pictures.length > 1;
  const table = Buffer.alloc((COLOURS + 1) * 3);
  colours.forEach((colour, i) => table.writeUIntBE(colour, i * 3, 3));
  const clear = Buffer.alloc(COLOURS + 1, 255);
  clear[COLOURS] = 0;
  const out = [SIGNATURE, chunk("IHDR", Buffer.concat([numbers(width, height), Buffer.from([8, 3, 0, 0, 0])])), chunk("PLTE", table), chunk("tRNS", clear)];
  if (animated) out.push(chunk("acTL", numbers(pictures.length, 0)));
  let sequence = 0;
  frames.forEach((now, i) => {
    const before = frames[i - 1];
    const box = before ? changed(pictures[i], before, now) : [0, 0, width, height];
    if (animated) {
      const delay = Buffer.alloc(6);
      delay.writeUInt16BE(delays[i] ?? 100, 0);
      delay.writeUInt16BE(1_000, 2);
      // Keep the picture, and draw over it.
      delay[5] = 1;
      out.push(chunk("fcTL", Buffer.concat([numbers(sequence++, box[2], box[3], box[0], box[1]), delay])));
    }
    const data = packed(pictures[i], before, now, box);
    out.push(i === 0 ? chunk("IDAT", data) : chunk("fdAT", Buffer.concat([numbers(sequence++), data])));
  });
  return Buffer.concat([...out, chunk("IEND", Buffer.alloc(0))]);
}
