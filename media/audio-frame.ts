/** The one format inside the house: mono PCM16 at 16 kHz in frames of 20 ms. Legs and engines convert at the edge. */

export const SAMPLE_RATE = 16_000;
export const FRAME_MS = 20;
/** Samples in one frame: 320. */
export const FRAME_SAMPLES = (SAMPLE_RATE / 1000) * FRAME_MS;

/** 20 ms of mono PCM16: FRAME_SAMPLES samples. */
export type AudioFrame = Int16Array;

/** A frame of digital silence. Shared: never write into it. */
export const SILENCE: AudioFrame = new Int16Array(FRAME_SAMPLES);
