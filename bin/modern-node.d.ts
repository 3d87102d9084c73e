export const NEEDED_MAJOR: number;
export const thisMajor: number;
export function findModernNode(folders: readonly string[]): string | undefined;
