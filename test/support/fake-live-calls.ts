import { ApiError } from '../../src/api/errors.ts';
import type { CallCommand, CommandOutcome, LiveCalls, PlaceRequest, RealtimeRequest, TransferRequest } from '../../src/resources/calls/live-calls.ts';

/** Live calls that exist in a test's imagination only. */
export class FakeLiveCalls implements LiveCalls {
  readonly opened: RealtimeRequest[] = [];
  readonly hungUp: string[] = [];
  full = false;
  readonly placed: PlaceRequest[] = [];
  readonly commands: { callId: string; command: CallCommand }[] = [];
  readonly transfers: ({ callId: string } & TransferRequest)[] = [];
  /** What stands in the way of dialling and of transfers. */
  refusal: ApiError | undefined;
  /** What becomes of a dialling. */
  onPlace: (request: PlaceRequest) => Promise<void> = () => Promise.resolve();
  outcome: CommandOutcome = 'done';
  /** What a hang-up does to the call's row. */
  onHangUp: (callId: string) => Promise<void> = () => Promise.resolve();

  async hangUp(callId: string): Promise<boolean> {
    this.hungUp.push(callId);
    await this.onHangUp(callId);
    return true;
  }

  mayPlace(): void {
    if (this.refusal) throw this.refusal;
  }

  async place(request: PlaceRequest): Promise<void> {
    this.placed.push(request);
    await this.onPlace(request);
  }

  command(callId: string, command: CallCommand): Promise<CommandOutcome> {
    if (this.outcome === 'done') this.commands.push({ callId, command });
    return Promise.resolve(this.outcome);
  }

  mayTransfer(): void {
    if (this.refusal) throw this.refusal;
  }

  transfer(callId: string, request: TransferRequest): Promise<void> {
    this.transfers.push({ callId, ...request });
    return Promise.resolve();
  }

  openRealtime(request: RealtimeRequest): Promise<{ url: string }> {
    if (this.full) return Promise.reject(new ApiError('concurrency_limit'));
    this.opened.push(request);
    return Promise.resolve({ url: `ws://localhost:1/v1/realtime?session=${request.sessionId}` });
  }
}
