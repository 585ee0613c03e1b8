/** A number of things in words: `1 file`, `2 files`. `noun` is a singular that takes an s. */
export function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
