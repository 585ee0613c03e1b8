/** The number that an option has as text. @throws Error for anything else */
export function wholeNumber(name: string, text: string, least: number): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number >= least) return number
  throw new Error(`Expected \`${name}\` to be a whole number of at least ${least}, got \`${text}\``)
}
