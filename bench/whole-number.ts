/** The number that an option of a command has as text. @throws Error that names the option, if it is none */
export function wholeNumber(name: string, text: string, least: number): number {
  const number = Number(text)
  if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number >= least) return number
  throw new Error(`Expected \`${name}\` to be a whole number of at least ${least}, got \`${text}\``)
}
