/** A parsed template: `{var|filter:arg}` and `[optional groups]`. Rendering is pure. */
export interface Template {
  readonly source: string;
}

export interface TemplateFault {
  readonly at: number;
  readonly message: string;
}
