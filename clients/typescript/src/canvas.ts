// Pictures made smaller by the browser.

import type { PictureCodec, Region } from "./pictures.js";

const QUALITY = 0.9;
/** How JPEG, PNG and WebP begin; the last has its size in between. */
const BEGINNINGS = [/^\xff\xd8\xff/, /^\x89PNG\r\n/, /^RIFF[^]{4}WEBP/];
const WHOLE: Region = { left: 0, top: 0, right: 1, bottom: 1 };

/** The browser's own reading and writing of pictures; undefined where it has none off the page. */
export const canvasPictures: PictureCodec | undefined =
  typeof OffscreenCanvas === "undefined" || typeof createImageBitmap === "undefined" ? undefined : { fit, cut };

async function fit(picture: Uint8Array, side: number): Promise<Uint8Array> {
  const bitmap = await read(picture).catch(() => undefined); // the server is the judge of that
  if (!bitmap) return picture;
  const beginning = String.fromCharCode(...picture.subarray(0, 12));
  if (BEGINNINGS.some((each) => each.test(beginning)) && Math.max(bitmap.width, bitmap.height) <= side) {
    bitmap.close();
    return picture;
  }
  return drawn(bitmap, WHOLE, side);
}

async function cut(picture: Uint8Array, region: Region, side: number): Promise<Uint8Array> {
  return drawn(await read(picture), region, side);
}

/** A picture, upright by its EXIF orientation. */
function read(picture: Uint8Array): Promise<ImageBitmap> {
  return createImageBitmap(new Blob([picture.slice()]), { imageOrientation: "from-image" });
}

async function drawn(bitmap: ImageBitmap, region: Region, side: number): Promise<Uint8Array> {
  const [left, top] = [Math.round(region.left * bitmap.width), Math.round(region.top * bitmap.height)];
  const width = Math.max(1, Math.round(region.right * bitmap.width) - left);
  const height = Math.max(1, Math.round(region.bottom * bitmap.height) - top);
  const share = side ? Math.min(1, side / Math.max(width, height)) : 1;
  const canvas = new OffscreenCanvas(Math.max(1, Math.round(width * share)), Math.max(1, Math.round(height * share)));
  const context = canvas.getContext("2d");
  if (!context) throw new Error("the browser gives no canvas");
  context.fillStyle = "white"; // what is transparent is seen as white
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.imageSmoothingQuality = "high";
  context.drawImage(bitmap, left, top, width, height, 0, 0, canvas.width, canvas.height);
  bitmap.close();
  const blob = await canvas.convertToBlob({ type: "image/jpeg", quality: QUALITY });
  return new Uint8Array(await blob.arrayBuffer());
}
