import { ApiError } from './api.js';
import { localNow } from './clock.js';
import { SseParser } from './sse.js';

/** @typedef {import('./api.js').Api} Api */
/** @typedef {import('./sse.js').Message} Message */
/**
 * @typedef {{ kind: 'connecting' } | { kind: 'live' } | { kind: 'locked' }
 *   | { kind: 'resting' } | { kind: 'lost', since: number, retryAt: number, why: string }} FeedState
 */

/** The server says every 15 s that it is still there. */
const SILENT_MS = 40_000;
const SHORTEST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;
/** A page that nobody sees gives its connection back: browsers have six for one server, the server 256 for all. */
const REST_AFTER_MS = 10_000;

/** The event stream, which comes back by itself and goes on where it was. EventSource cannot send a token. */
export class Feed {
  /** @type {FeedState} */
  state = { kind: 'connecting' };
  /** @type {(message: Message) => void} */
  onMessage = () => {};
  onState = () => {};
  /** @type {Api} */
  #api;
  #lastId = '';
  #heardAt = 0;
  #failures = 0;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #rest;
  #abort = new AbortController();

  /** @param {Api} api */
  constructor(api) {
    this.#api = api;
    // A machine that slept has no connection any more, whatever it believes.
    setInterval(() => {
      if (this.state.kind === 'live' && localNow() - this.#heardAt > SILENT_MS) this.#abort.abort();
    }, 1_000);
    addEventListener('online', () => this.retry());
    document.addEventListener('visibilitychange', () => this.#onSeen());
  }

  /** Connects now, whatever the time until the next try. */
  retry() {
    if (this.state.kind === 'live' || document.hidden) return;
    clearTimeout(this.#timer);
    this.#abort.abort();
    void this.#run();
  }

  /** Nobody looks any more, or somebody does again; what was missed then comes first. */
  #onSeen() {
    clearTimeout(this.#rest);
    if (!document.hidden) return this.state.kind === 'locked' ? undefined : this.retry();
    this.#rest = setTimeout(() => {
      if (this.state.kind === 'locked') return;
      clearTimeout(this.#timer);
      const reading = this.#abort;
      this.#abort = new AbortController();
      reading.abort();
      this.#become({ kind: 'resting' });
    }, REST_AFTER_MS);
    return undefined;
  }

  async #run() {
    const abort = new AbortController();
    this.#abort = abort;
    if (this.state.kind !== 'lost') this.#become({ kind: 'connecting' });
    /** @type {unknown} */
    let trouble;
    try {
      await this.#read(abort.signal);
    } catch (error) {
      trouble = error;
    }
    // Another run has taken over.
    if (this.#abort !== abort) return;
    if (trouble instanceof ApiError && trouble.status === 401) this.#become({ kind: 'locked' });
    else this.#wait(trouble instanceof ApiError ? trouble.message : '');
  }

  /** @param {AbortSignal} signal */
  async #read(signal) {
    /** @type {Record<string, string>} */
    const headers = { Accept: 'text/event-stream' };
    if (this.#lastId) headers['Last-Event-ID'] = this.#lastId;
    const response = await this.#api.ask('/events', { headers, signal });
    this.#failures = 0;
    this.#heardAt = localNow();
    this.#become({ kind: 'live' });
    const parser = new SseParser();
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
      if (done) return;
      this.#heardAt = localNow();
      for (const message of parser.push(value ?? '')) {
        if (message.id !== undefined) this.#lastId = message.id;
        if (message.data !== '') this.onMessage(message);
      }
    }
  }

  /** @param {string} why as the server has said it */
  #wait(why) {
    const now = localNow();
    const since = this.state.kind === 'lost' ? this.state.since : now;
    const waitMs = Math.min(LONGEST_WAIT_MS, SHORTEST_WAIT_MS * 2 ** this.#failures);
    this.#failures += 1;
    this.#become({ kind: 'lost', since, retryAt: now + waitMs, why });
    this.#timer = setTimeout(() => void this.#run(), waitMs);
  }

  /** @param {FeedState} state */
  #become(state) {
    this.state = state;
    this.onState();
  }
}
