import {
  type MessagePort,
  parentPort,
  receiveMessageOnPort,
  workerData,
} from 'node:worker_threads';
import type { Call, FromWorker, ToWorker } from './sqlite-calls.ts';
import { asStoreError } from './sqlite-errors.ts';
import type { FileTerms } from './sqlite-file.ts';
import { GroupCommit } from './sqlite-group.ts';

// One commit for all that is waiting, up to these: the first of a group must not wait for long, and the answers of a
// group reach the proxy's thread at once, which then does all that waited for them in one go.
const CALLS_AT_ONCE = 64;
const BYTES_AT_ONCE = 4 * 1024 * 1024;

/** The database's own thread: the disk may be slow, the proxy's thread may not. */
function serve(port: MessagePort, terms: FileTerms): void {
  const database = new GroupCommit(terms);
  const say = (message: FromWorker) => port.postMessage(message);

  port.on('message', (first: ToWorker) => {
    const calls: Call[] = [];
    let bytes = 0;
    const flush = () => {
      if (calls.length > 0) say({ kind: 'answers', answers: database.run(calls.splice(0)) });
      bytes = 0;
    };
    for (let message: ToWorker | undefined = first; message; message = received(port)) {
      if (message.kind === 'call') {
        calls.push(message.call);
        bytes += sizeOf(message.call);
        if (calls.length < CALLS_AT_ONCE && bytes < BYTES_AT_ONCE) continue;
        flush();
      } else if (message.kind === 'open') {
        say(opened(database, message.recover, terms));
      } else {
        flush();
        database.close();
        port.close();
        return;
      }
    }
    flush();
  });
}

function opened(database: GroupCommit, recover: boolean, { file }: FileTerms): FromWorker {
  try {
    return { kind: 'opened', recovered: database.open(recover) };
  } catch (error) {
    const { code, message } = asStoreError(error, file);
    return { kind: 'not_opened', code, message };
  }
}

function received(port: MessagePort): ToWorker | undefined {
  return receiveMessageOnPort(port)?.message;
}

function sizeOf(call: Call): number {
  if (call.name === 'park') return call.args[1]?.byteLength ?? 0;
  if (call.name === 'save') return call.args[1].length;
  return 0;
}

if (parentPort) serve(parentPort, workerData);
