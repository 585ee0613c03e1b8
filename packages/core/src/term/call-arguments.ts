import { OptionsError } from '../options/options-error.ts'

/** The arguments of a call that have to be there, by their names. */
export interface CallArguments {
  readonly texts?: Readonly<Record<string, unknown>>
  readonly functions?: Readonly<Record<string, unknown>>
}

/**
 * Checks what TypeScript checks where it is used.
 * @param call as it should be, such as `term.spawn(name, work)`
 * @throws OptionsError naming the argument that is wrong.
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
  // Every task comes through here: `for…in` makes no arrays.
  for (const name in values) {
    const value = values[name]
    if (typeof value !== type) throw OptionsError.expected(`\`${name}\` of \`${call}\` to be ${what}`, value)
  }
}
