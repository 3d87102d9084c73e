/** What `forbear ca` can be asked for. */
export const CA_TOPICS = ['path', 'print', 'bundle', 'install-help'] as const;
export type CaTopic = (typeof CA_TOPICS)[number];
