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
export function assertArguments(call: string, { texts = {}, functions = {} }: CallArguments): void {
  for (const [name, value] of Object.entries(texts)) {
    if (typeof value !== 'string') throw OptionsError.expected(`\`${name}\` of \`${call}\` to be a text`, value)
  }
  for (const [name, value] of Object.entries(functions)) {
    if (typeof value !== 'function') throw OptionsError.expected(`\`${name}\` of \`${call}\` to be a function`, value)
  }
}
