import { OptionsError } from '@tenure/core'

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000 }

/** Reads a duration such as `90s`, `2m` or `500ms`. A number without a unit counts seconds. @throws OptionsError */
export function durationFlag(flag: string, text: string): number {
  const { amount, unit } = /^(?<amount>\d{1,7}(?:\.\d{1,3})?)(?<unit>ms|s|m)?$/.exec(text)?.groups ?? {}
  if (amount !== undefined) return Number(amount) * (UNITS[unit ?? 's'] ?? 1000)
  throw new OptionsError(`Expected \`${flag}\` to be a duration such as \`90s\` or \`2m\`, got \`${text}\``)
}
