/** @typedef {{ id: string | undefined, type: string, data: string }} Message */

/** Takes the text of an event stream apart, in whatever pieces it comes. */
export class SseParser {
  #rest = '';
  /** @type {{ id: string | undefined, type: string, data: string[] }} */
  #message = { id: undefined, type: '', data: [] };

  /**
   * The messages that a piece completes. One without data has an empty `data`: its id counts nevertheless.
   * @param {string} piece
   * @returns {Message[]}
   */
  push(piece) {
    const lines = (this.#rest + piece).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    const done = [];
    for (const line of lines) {
      if (line !== '') this.#field(line);
      else {
        const { id, type, data } = this.#message;
        if (id !== undefined || data.length > 0) {
          done.push({ id, type: type || 'message', data: data.join('\n') });
        }
        this.#message = { id: undefined, type: '', data: [] };
      }
    }
    return done;
  }

  /** @param {string} line */
  #field(line) {
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (name === 'id') this.#message.id = value;
    if (name === 'event') this.#message.type = value;
    if (name === 'data') this.#message.data.push(value);
  }
}
