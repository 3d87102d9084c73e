import { constants } from 'node:http2';
import { CodedError } from './failure.ts';
import type { StreamFacts } from './h2-facts.ts';
import type { H2Session } from './h2-session.ts';

/** Why a stream ended without a whole reply: who reset it, or what became of its connection. */
export function faultOf(facts: StreamFacts, session: H2Session): Error {
  if (facts.resetBy !== undefined) return resetFault(facts.resetBy);
  const { goaway } = session;
  if (goaway !== undefined && facts.id > goaway.lastId) return refusedFault(goaway.code);
  // Node ends all streams at a GOAWAY with an error, whatever its last stream is.
  if (goaway !== undefined && goaway.code !== constants.NGHTTP2_NO_ERROR) {
    return resetFault(goaway.code);
  }
  const complaint = session.complaint || facts.resetByUs;
  if (session.fault === undefined && complaint) return complaintFault(complaint);
  return connectionFault(session.fault);
}

function resetFault(code: number): CodedError {
  const text = `reset with ${nameOf(code)}`;
  switch (code) {
    case constants.NGHTTP2_NO_ERROR:
      return new CodedError('FORBEAR_CLOSED', text);
    case constants.NGHTTP2_REFUSED_STREAM:
      return new CodedError('FORBEAR_STREAM_REFUSED', text);
    case constants.NGHTTP2_ENHANCE_YOUR_CALM:
      return new CodedError('FORBEAR_CALM', text);
    case constants.NGHTTP2_HTTP_1_1_REQUIRED:
      return new CodedError('FORBEAR_HTTP11_REQUIRED', text);
    default:
      return new CodedError('FORBEAR_STREAM_RESET', text);
  }
}

/** The stream is above the last one that the other side will act upon. */
function refusedFault(code: number): CodedError {
  const text = `left behind by a GOAWAY with ${nameOf(code)}`;
  switch (code) {
    case constants.NGHTTP2_ENHANCE_YOUR_CALM:
      return new CodedError('FORBEAR_CALM_REFUSED', text);
    case constants.NGHTTP2_HTTP_1_1_REQUIRED:
      return new CodedError('FORBEAR_HTTP11_REQUIRED', text);
    default:
      return new CodedError('FORBEAR_GOAWAY', text);
  }
}

/** Node ends what is wrong by itself; its limits on heads it states as ENHANCE_YOUR_CALM. */
function complaintFault(code: number): CodedError {
  return code === constants.NGHTTP2_ENHANCE_YOUR_CALM
    ? new CodedError('FORBEAR_LONG_HEAD', 'a head above the limits')
    : new CodedError('FORBEAR_BAD_REPLY', `what came was ended here with ${nameOf(code)}`);
}

/** What the connection died of. An error of Node's own HTTP/2 means that the other side broke its rules. */
function connectionFault(fault: Error | undefined): Error {
  if (fault === undefined) {
    return new CodedError('FORBEAR_CLOSED', 'the connection was closed before the reply was whole');
  }
  const code = 'code' in fault ? String(fault.code) : '';
  return code.startsWith('ERR_HTTP2_')
    ? new CodedError('FORBEAR_BAD_REPLY', fault.message, { cause: fault })
    : fault;
}

/** In the order of RFC 9113 section 7. */
const NAMES = [
  ...['NO_ERROR', 'PROTOCOL_ERROR', 'INTERNAL_ERROR', 'FLOW_CONTROL_ERROR', 'SETTINGS_TIMEOUT'],
  ...['STREAM_CLOSED', 'FRAME_SIZE_ERROR', 'REFUSED_STREAM', 'CANCEL', 'COMPRESSION_ERROR'],
  ...['CONNECT_ERROR', 'ENHANCE_YOUR_CALM', 'INADEQUATE_SECURITY', 'HTTP_1_1_REQUIRED'],
];

const nameOf = (code: number): string => NAMES[code] ?? `code ${code}`;
