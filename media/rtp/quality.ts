/** Listening quality of a G.711 call, estimated by the E-model (ITU-T G.107) with G.113 Appendix I's values. */

/** R of a perfect narrow-band line. */
const BASE_R = 93.2;
/** Robustness of G.711 with concealment against random loss (G.113 Appendix I). */
const LOSS_ROBUSTNESS = 25.1;
/** Delay from which a conversation starts to suffer (G.107's simplification by Cole and Rosenbluth). */
const DELAY_KNEE_MS = 177.3;

/** Mean opinion score, 1 to 4.41, from the loss in percent, the interarrival jitter and the round trip (0 when unknown). */
export function meanOpinionScore(quality: { lostPct: number; jitterMs: number; rttMs: number }): number {
  const delay = quality.rttMs / 2 + 2 * quality.jitterMs;
  const delayImpairment = 0.024 * delay + 0.11 * Math.max(0, delay - DELAY_KNEE_MS);
  const lossImpairment = (95 * quality.lostPct) / (quality.lostPct + LOSS_ROBUSTNESS);
  const r = Math.max(0, Math.min(100, BASE_R - delayImpairment - lossImpairment));
  const score = 1 + 0.035 * r + r * (r - 60) * (100 - r) * 7e-6;
  return Math.round(Math.max(1, score) * 100) / 100;
}
