import { OptionsError } from '../options/options-error.ts'

/** Another live replica uses the same identity. */
export function identityTaken(lease: string, identity: string): OptionsError {
  return new OptionsError(
    `Expected \`identity\` to be unique to this process, but another live replica holds \`${lease}\` as \`${identity}\`. ` +
      'Leave `identity` out to get a unique one',
  )
}
