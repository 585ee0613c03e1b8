import { OptionsError } from '../options/options-error.ts'

/** The required arguments of a call, by name. */
export interface CallArguments {
  readonly texts?: Readonly<Record<string, unknown>>
  readonly functions?: Readonly<Record<string, unknown>>
}

/**
 * Checks arguments at run time, for callers without TypeScript.
 * @param call the correct call, such as `term.spawn(name, work)`
 * @throws OptionsError that names the wrong argument.
 */
export function assertArguments(call: string, { texts, functions }: CallArguments): void {
  assertEach(call, texts, 'string', 'a text')
  assertEach(call, functions, 'function', 'a function')
}

function assertEach(
  call: string,
  values: Readonly<Record<string, unknown>> | undefined,
  type: 'string' | 'function',
  what: string,
): void {
  // Every task runs this: `for…in` allocates no array.
  for (const name in values) {
    const value = values[name]
    if (typeof value !== type) throw OptionsError.expected(`\`${name}\` of \`${call}\` to be ${what}`, value)
  }
}
