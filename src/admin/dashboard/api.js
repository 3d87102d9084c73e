import { learnClock } from './clock.js';

const BASE = '/api/v1';
const KEY = 'forbear-token';

/** An answer that is no success, with the sentence to show. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {{ reason?: string, detail?: string }} problem
   */
  constructor(status, problem) {
    super(problem.detail || `The server answered ${status}.`);
    this.status = status;
    this.reason = problem.reason ?? '';
  }
}

/** The admin API of the server this page came from. */
export class Api {
  /** Called when the token is missing or wrong. */
  onLocked = () => {};

  get token() {
    return sessionStorage.getItem(KEY) ?? '';
  }

  /** @param {string} token */
  set token(token) {
    if (token === '') sessionStorage.removeItem(KEY);
    else sessionStorage.setItem(KEY, token);
  }

  /**
   * @template T
   * @param {string} path
   * @returns {Promise<T>}
   */
  async get(path) {
    return (await this.ask(path)).json();
  }

  /**
   * A call that changes something.
   * @param {'POST' | 'DELETE'} method
   * @param {string} path
   * @param {unknown} [body]
   */
  async act(method, path, body = {}) {
    const headers = { 'Content-Type': 'application/json' };
    return (await this.ask(path, { method, headers, body: JSON.stringify(body) })).json();
  }

  /**
   * A whole list, page after page, up to `most` items; `onPage` sees what is there so far.
   * @template T
   * @param {string} path
   * @param {{ most: number, onPage?: (items: T[]) => void }} o
   * @returns {Promise<{ items: T[], isWhole: boolean, first: Record<string, unknown> }>}
   */
  async all(path, { most, onPage }) {
    /** @type {T[]} */
    const items = [];
    /** @type {Record<string, unknown>} */
    let first = {};
    let cursor = '';
    do {
      const mark = path.includes('?') ? '&' : '?';
      const from = cursor && `&cursor=${encodeURIComponent(cursor)}`;
      const page = await this.get(`${path}${mark}limit=500${from}`);
      if (items.length === 0) first = page;
      items.push(...page.items);
      cursor = page.next ?? '';
      onPage?.(items);
    } while (cursor !== '' && items.length < most);
    return { items, isWhole: cursor === '', first };
  }

  /**
   * Any call; rejects with an ApiError when it is answered badly, with a TypeError when it is not answered.
   * @param {string} path
   * @param {RequestInit & { headers?: Record<string, string> }} [o]
   */
  async ask(path, o = {}) {
    const { token } = this;
    const headers = { ...o.headers, ...(token && { Authorization: `Bearer ${token}` }) };
    const response = await fetch(`${BASE}${path}`, { ...o, headers, cache: 'no-store' });
    learnClock(response.headers.get('date'));
    if (response.ok) return response;
    if (response.status === 401) this.onLocked();
    throw new ApiError(response.status, await problemOf(response));
  }
}

/** @param {Response} response */
async function problemOf(response) {
  try {
    return await response.json();
  } catch {
    return {};
  }
}
