// Pictures that are sent small, and what is sent of them when the server wants to see more.

import { FrameBegin_Role, type FrameNeed } from "./gen/quizglass/v1/session_pb.js";
import { type FrameAbout, hex } from "./outgoing.js";

/** Pictures of which more than was sent is kept, at most; the oldest are forgotten. */
const MOST_KEPT = 4;

/** A part of a picture that is upright: shares of its width and height, 0 to 1. */
export interface Region {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A part that the server wants to see sharper. */
export interface Part {
  region: Region;
  /** Pixels that its longer side should have; more bring nothing. 0: as sharp as there is. */
  leastSide: number;
}

/** What makes pictures smaller. Both give JPEG, PNG or WebP. */
export interface PictureCodec {
  /** A picture with its longer side at most so many pixels; as it is where it fits, or cannot be read. */
  fit(picture: Uint8Array, side: number): Promise<Uint8Array>;
  /** A part of a picture, its longer side at most so many pixels; 0: in all its sharpness. */
  cut(picture: Uint8Array, region: Region, side: number): Promise<Uint8Array>;
}

/** What cuts the part of a scene that is asked for, encoded; nothing where there is none (any more). */
export type Cutter = (part: Part) => Uint8Array | undefined | Promise<Uint8Array | undefined>;

/** What is behind a thumbnail: a cutter, the picture in full, or both. */
export interface Behind {
  full?: Uint8Array;
  cut?: Cutter;
}

/** What is sent for a part: its bytes, and what they are. */
export interface Sharper {
  data: Uint8Array;
  begin: FrameAbout;
}

/** What is kept behind the thumbnails that were sent. */
export class Thumbnails {
  readonly #behind = new Map<string, Behind>();

  /** There is more of a thumbnail of that name. */
  keep(sha256: Uint8Array, behind: Behind): void {
    const name = hex(sha256);
    this.#behind.delete(name);
    this.#behind.set(name, behind);
    for (const oldest of this.#behind.keys()) {
      if (this.#behind.size <= MOST_KEPT) return;
      this.#behind.delete(oldest);
    }
  }

  /** It is not needed any more. */
  drop(sha256: Uint8Array): void {
    this.#behind.delete(hex(sha256));
  }

  /** Forget all of them. */
  clear(): void {
    this.#behind.clear();
  }

  /**
   * What to send for a part: that part, or the whole where this is fewer bytes; undefined where there is nothing.
   * @throws whatever a cutter throws
   */
  async sharper(need: FrameNeed): Promise<Sharper | undefined> {
    const name = hex(need.sha256);
    const behind = this.#behind.get(name);
    if (!behind || !need.region) return undefined;
    const { left, top, right, bottom } = need.region;
    const region = { left, top, right, bottom };
    const part = await behind.cut?.({ region, leastSide: need.leastSide });
    if (this.#behind.get(name) !== behind) return undefined; // it was dropped meanwhile
    const parentSha256 = need.sha256;
    const { full } = behind;
    if (full && !(part && part.length < full.length)) return { data: full, begin: { role: FrameBegin_Role.FULL, parentSha256 } };
    return part && { data: part.slice(), begin: { role: FrameBegin_Role.CROP, parentSha256, region } };
  }
}
