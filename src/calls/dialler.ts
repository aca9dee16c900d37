import type { UserAgent } from '../../sip/user-agent.ts';
import type { PlaceRequest } from '../resources/calls/live-calls.ts';
import type { CallControl } from './call-control.ts';
import type { LiveCall } from './live-call.ts';
import { OutboundCall } from './outbound-call.ts';
import type { WorkerPool } from './worker-pool.ts';

export interface DiallerOptions {
  agent: UserAgent;
  control: CallControl;
  pool: WorkerPool;
  /** Address that SDP names. */
  mediaAddress: string;
  /** Has a SIP call's messages written into the call's log. */
  follow: (sipCallId: string, call: LiveCall) => void;
  log: { warn(detail: object, message: string): void };
}

/** Places telephone calls through SIP trunks. */
export class Dialler {
  readonly #options: DiallerOptions;

  constructor(options: DiallerOptions) {
    this.#options = options;
  }

  /** Opens the call in its reserved place; what becomes of it is on its record. */
  dial(request: PlaceRequest): void {
    const { trunk, from } = request;
    if (trunk === null || from === null) throw new Error(`call ${request.callId} has no trunk or no number to call from`);
    const call = new OutboundCall({ ...request, trunk, from }, this.#options);
    call.run().catch((error: unknown) => {
      this.#options.log.warn({ callId: request.callId, error: String(error) }, 'placing a call failed');
      call.fail();
    });
  }
}
