import { ApiError } from './api.js';
import { Rates } from './rates.js';

/** @typedef {import('./api.js').Api} Api */
/** @typedef {import('./shapes.d.ts').Lane} Lane */
/** @typedef {import('./shapes.d.ts').Status} Status */
/** @typedef {import('./shapes.d.ts').SpendView} SpendView */
/** @typedef {import('./shapes.d.ts').Happening} Happening */
/** @typedef {import('./shapes.d.ts').Interception} Interception */
/** @typedef {'lanes' | 'warnings' | 'status' | 'spend' | 'events' | 'exchanges' | 'routes' | 'sessions' | 'letters'} Topic */
/** @typedef {Happening & { readonly key: number }} Heard */

export const MOST_EVENTS = 500;
const MOST_LANES = 20_000;

/** Which list an event changes. */
const TOPICS = /** @type {Readonly<Record<string, Topic>>} */ ({
  route_ejected: 'routes',
  route_restored: 'routes',
  upstream_out: 'routes',
  session_ended: 'sessions',
  dead_letter_parked: 'letters',
  dead_letter_closed: 'letters',
  dead_letter_redriven: 'letters',
  exchange_started: 'exchanges',
  exchange_finished: 'exchanges',
  attempt_finished: 'exchanges',
});

/** What the page knows. Everything in it is bounded: it stays open for days. */
export class Model {
  /** @type {Map<string, Lane>} */
  lanes = new Map();
  /** @type {Map<string, Rates>} */
  #rates = new Map();
  all = new Rates();
  /** @type {Status | undefined} */
  status;
  /** Undefined: not counted here. @type {SpendView | undefined} */
  spend;
  /** Early warnings that are raised. @type {readonly import('./shapes.d.ts').Warning[]} */
  warnings = [];
  /** By lane. @type {ReadonlyMap<string, Interception>} */
  interception = new Map();
  /** The newest last. @type {Heard[]} */
  events = [];
  /** @type {(topic: Topic, event?: Happening) => void} */
  onChange = () => {};
  /** @type {Api} */
  #api;
  #heard = 0;
  #loads = 0;
  /** Lanes that were told of while the list was being loaded: what is told is newer. @type {Set<string>} */
  #fresh = new Set();

  /** @param {Api} api */
  constructor(api) {
    this.#api = api;
  }

  /**
   * Rates of one lane.
   * @param {string} lane
   */
  ratesOf(lane) {
    return this.#rates.get(lane);
  }

  /**
   * Takes in a message of the event stream.
   * @param {import('./sse.js').Message} message
   */
  hear({ type, data }) {
    const told = JSON.parse(data);
    if (type === 'lanes') return this.#laneChanges(told);
    if (type === 'hello') return;
    if (type === 'gap') return this.onChange('exchanges');
    this.#heard += 1;
    this.events.push({ ...told, key: this.#heard });
    if (this.events.length > MOST_EVENTS * 2) this.events.splice(0, MOST_EVENTS);
    this.#count(told);
    if (type === 'early_warning') void this.loadWarnings().catch(() => {});
    this.onChange('events', told);
    const topic = TOPICS[type];
    if (topic) this.onChange(topic);
  }

  /** Loads all lanes; told changes meanwhile win. */
  async loadLanes() {
    this.#loads += 1;
    const load = this.#loads;
    this.#fresh.clear();
    /** @type {Set<string>} */
    const seen = new Set();
    const take = (/** @type {Lane[]} */ items) => {
      if (load !== this.#loads) return;
      for (const lane of items.slice(seen.size)) {
        seen.add(lane.id);
        if (!this.#fresh.has(lane.id)) this.lanes.set(lane.id, lane);
      }
      this.onChange('lanes');
    };
    await this.#api.all('/lanes', { most: MOST_LANES, onPage: take });
    if (load !== this.#loads) return;
    for (const id of this.lanes.keys()) {
      if (!seen.has(id) && !this.#fresh.has(id)) this.#drop(id);
    }
    this.onChange('lanes');
  }

  async loadStatus() {
    this.status = await this.#api.get('/status');
    this.onChange('status');
  }

  async loadWarnings() {
    this.warnings = (await this.#api.get('/warnings')).items;
    this.onChange('warnings');
  }

  /** Loads how opened TLS fares beside sealed tunnels. */
  async loadInterception() {
    const { items } = await this.#api.get('/interception?limit=500');
    this.interception = new Map(items.map((/** @type {Interception} */ one) => [one.lane, one]));
    this.onChange('lanes');
  }

  /** Loads what the traffic cost, where that is counted. */
  async loadSpend() {
    try {
      this.spend = await this.#api.get('/spend');
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 404) throw error;
      this.spend = undefined;
    }
    this.onChange('spend');
  }

  /**
   * Takes over a lane as a command has answered it.
   * @param {Lane} lane
   */
  setLane(lane) {
    this.#fresh.add(lane.id);
    this.lanes.set(lane.id, lane);
    this.onChange('lanes');
  }

  /** @param {{ lanes: Lane[], gone: string[] }} told */
  #laneChanges({ lanes, gone }) {
    for (const lane of lanes) {
      this.#fresh.add(lane.id);
      this.lanes.set(lane.id, lane);
    }
    for (const id of gone) {
      this.#fresh.add(id);
      this.#drop(id);
    }
    this.onChange('lanes');
  }

  /** @param {string} id */
  #drop(id) {
    this.lanes.delete(id);
    this.#rates.delete(id);
  }

  /** @param {Happening} event */
  #count(event) {
    if (event.type !== 'attempt_finished' && event.type !== 'exchange_finished') return;
    const at = Date.parse(event.at);
    const rates = this.#ratesFor(String(event.lane));
    if (event.type === 'attempt_finished') {
      for (const one of [rates, this.all]) one.attempt(at, Number(event.n));
      return;
    }
    // Whoever left says nothing about the site.
    if (event.answered === 'client_gone') return;
    const isGood = event.stop === null && typeof event.answered === 'number';
    for (const one of [rates, this.all]) one.end(at, isGood);
  }

  /** @param {string} lane */
  #ratesFor(lane) {
    const known = this.#rates.get(lane);
    if (known) return known;
    // Lanes come and go; those that are told of as gone take their rates with them, the rest is cut here.
    const [oldest] = this.#rates.keys();
    if (this.#rates.size >= MOST_LANES && oldest !== undefined) this.#rates.delete(oldest);
    const made = new Rates();
    this.#rates.set(lane, made);
    return made;
  }
}
