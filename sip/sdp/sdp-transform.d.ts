/** What we use of sdp-transform 3, which brings no types. */
declare module 'sdp-transform' {
  interface Attributes {
    direction?: string;
    ptime?: number | string;
    maxptime?: number | string;
    connection?: { version: number | string; ip: string | number };
  }

  export interface SdpMedia extends Attributes {
    type: string;
    port: number;
    protocol: string;
    payloads: string | number;
    /** Whatever reads as a number comes as one, `codec` too. */
    rtp: { payload: number | string; codec: string | number; rate?: number | string; encoding?: number | string }[];
    fmtp: { payload: number | string; config: string }[];
    rtcp?: { port: number | string; address?: string };
  }

  export interface SdpSession extends Attributes {
    version?: number;
    origin?: { username: string; sessionId: string | number; sessionVersion: number; netType: string; ipVer: number; address: string };
    name?: string;
    timing?: { start: number; stop: number };
    media: SdpMedia[];
  }

  const sdpTransform: { parse(sdp: string): SdpSession; write(session: SdpSession): string };
  export default sdpTransform;
}
