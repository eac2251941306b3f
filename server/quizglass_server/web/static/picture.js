// Pictures for the server: from the camera, a file or the page, no larger than what the models look at.

/** How JPEG, PNG and WebP begin, which the server takes; the last has its size in between. */
const BEGINNINGS = [/^\xff\xd8\xff/, /^\x89PNG\r\n/, /^RIFF[^]{4}WEBP/];

/**
 * Why this browser has no camera for this page; empty if it may have one.
 * @returns {string}
 */
export function noCamera() {
  // Its type says that it is always there.
  const devices = /** @type {MediaDevices | undefined} */ (navigator.mediaDevices);
  if (devices) return "";
  return window.isSecureContext
    ? "This browser gives no camera. Choose a file instead."
    : "Browsers give the camera only to pages on this machine (localhost) or over HTTPS. Choose a file instead.";
}

/**
 * Why a camera could not be opened.
 * @param {any} error of getUserMedia
 */
export function cameraTrouble(error) {
  const why = {
    NotAllowedError: "The browser's settings do not give this page the camera.",
    NotFoundError: "This machine has no camera.",
    NotReadableError: "The camera is used by another program.",
  }[/** @type {string} */ (error?.name)];
  return `${why ?? `The camera cannot be opened (${error?.message ?? error}).`} Choose a file instead.`;
}

/** @param {HTMLVideoElement} video */
export async function openCamera(video) {
  const wanted = { facingMode: "environment", width: { ideal: 1280 }, height: { ideal: 960 } };
  const camera = await navigator.mediaDevices.getUserMedia({ video: wanted });
  video.srcObject = camera;
  await video.play();
}

/** @param {HTMLVideoElement} video */
export function closeCamera(video) {
  const camera = /** @type {MediaStream | null} */ (video.srcObject);
  for (const track of camera?.getTracks() ?? []) track.stop();
  video.srcObject = null;
}

/**
 * What the camera shows now.
 * @param {HTMLVideoElement} video
 * @param {number} side the longest one, in pixels
 */
export function snapped(video, side) {
  return drawn(video, video.videoWidth, video.videoHeight, side);
}

/**
 * A file as the server takes it: as it is if it is small, else smaller.
 * @param {Blob} file
 * @param {number} side the longest one, in pixels
 * @returns {Promise<Blob>}
 */
export async function fitting(file, side) {
  const bitmap = await createImageBitmap(file).catch(() => {
    throw new Error("This file is no picture that the browser can show. Choose a JPEG, PNG or WebP.");
  });
  try {
    if (Math.max(bitmap.width, bitmap.height) <= side && (await isTaken(file))) return file;
    return await drawn(bitmap, bitmap.width, bitmap.height, side);
  } finally {
    bitmap.close();
  }
}

/** Whether a file is of a format that the server takes, whatever it is called. @param {Blob} file */
async function isTaken(file) {
  const beginning = String.fromCharCode(...new Uint8Array(await file.slice(0, 12).arrayBuffer()));
  return BEGINNINGS.some((each) => each.test(beginning));
}

/** @param {CanvasImageSource} source @param {number} width @param {number} height @param {number} side @returns {Promise<Blob>} */
function drawn(source, width, height, side) {
  const share = Math.min(1, side / Math.max(width, height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * share));
  canvas.height = Math.max(1, Math.round(height * share));
  const pen = canvas.getContext("2d");
  if (!pen) return Promise.reject(new Error("The picture cannot be made."));
  pen.fillStyle = "white"; // behind what is transparent, which a JPEG would make black
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(source, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) => {
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture cannot be made."))), "image/jpeg", 0.9);
  });
}

/** The bytes of a picture in base64. @param {Blob} blob @returns {Promise<string>} */
export function base64(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result).split(",", 2)[1] ?? "");
    reader.onerror = () => reject(new Error("The file cannot be read."));
    reader.readAsDataURL(blob);
  });
}
