/** What makes two requests the same one (RFC 3261 sections 17.2.3 and 8.2.2.2). */
import { isUniqueBranch, type SipRequest } from '../message/message.ts';

/**
 * The key of the server transaction a request belongs to. `method` names another one than the request's:
 * an ACK and a CANCEL belong to the INVITE.
 */
export function serverKey(request: SipRequest, method: string = request.method): string {
  const { host, port, params } = request.topVia;
  const branch = params.get('branch');
  if (isUniqueBranch(branch)) return `${branch.toLowerCase()} ${host.toLowerCase()}:${port ?? ''} ${method}`;
  // RFC 2543: the To tag is left out, since the ACK has the one our response gave.
  const via = request.headers.list('via')[0] ?? '';
  return `2543 ${request.uri.text} ${request.from.tag ?? ''} ${request.callId} ${request.cseq.number} ${via} ${method}`;
}

/** Equal for the copies of one request that a forking proxy sent along two ways. */
export function mergeKey(request: SipRequest): string {
  return `${request.callId} ${request.from.tag ?? ''} ${request.cseq.number} ${request.method}`;
}

/** A client transaction's key: our branches are unique, the method tells a CANCEL's response apart (section 17.1.3). */
export function clientKey(branch: string, method: string): string {
  return `${branch} ${method}`;
}
