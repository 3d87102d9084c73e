import { isatty } from 'node:tty';
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';
import { prettyFactory } from 'pino-pretty';
import type { Emit } from './events.ts';
import { logLine } from './log-lines.ts';
import { cleanFields, cleanText } from './log-text.ts';

export interface LogOptions {
  readonly level: 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** `auto`: pretty on a terminal, JSON elsewhere. */
  readonly format: 'auto' | 'pretty' | 'json';
  /** Standard error when absent. */
  readonly destination?: DestinationStream | undefined;
}

export interface Log {
  /** Writes the event's line, if its level is on. Never throws. */
  readonly emit: Emit;
  readonly logger: Logger;
  /** Writes out what is still buffered. */
  close(): void;
}

const STDERR = 2;

/**
 * Opens the log: one line per exchange at info, one per attempt at debug, and what happens to lanes,
 * routes, sessions and upstreams. JSON lines or, on a terminal, readable ones.
 */
export function createLog(options: LogOptions): Log {
  const sink = openSink(options);
  const logger = pino(
    {
      level: options.level,
      messageKey: 'message',
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    sink.stream,
  );
  return {
    logger,
    close: sink.close,
    emit: (event) => {
      try {
        const { level, message, fields } = logLine(event);
        if (logger.isLevelEnabled(level)) logger[level](cleanFields(fields), cleanText(message));
      } catch (error) {
        logger.error(
          { error: { type: 'log_failed' } },
          cleanText(`cannot log ${event.type}: ${String(error)}`),
        );
      }
    },
  };
}

interface Sink {
  readonly stream: DestinationStream;
  close(): void;
}

function openSink({ format, destination }: LogOptions): Sink {
  const onTerminal = destination === undefined && isatty(STDERR);
  const readable = format === 'pretty' || (format === 'auto' && onTerminal);
  const sink: Sink = destination ? { stream: destination, close: () => {} } : standardError();
  if (!readable) return sink;
  const worded = prettyFactory({
    colorize: onTerminal && !process.env.NO_COLOR,
    messageKey: 'message',
    translateTime: 'SYS:HH:MM:ss',
    // The message says it all; the fields are for machines.
    ignore: 'http,url,server,client,session,forbear,error',
  });
  return { ...sink, stream: { write: (line) => sink.stream.write(worded(line)) } };
}

// Asynchronous, so that a slow reader of the log does not hold up the proxy.
function standardError(): Sink {
  const stream = pino.destination({ fd: STDERR, sync: false });
  // The reader of the pipe may have gone; the proxy goes on without its log.
  stream.on('error', () => {});
  return {
    stream,
    close: () => {
      try {
        stream.flushSync();
      } catch {
        // Not open any more: there is nobody left to read it.
      }
    },
  };
}
