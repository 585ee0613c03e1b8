import { OptionsError } from '@tenure/core'

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/
const PREFIX = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/

/** Asserts that Kubernetes accepts these labels. @throws OptionsError naming the invalid label */
export function assertLabels(option: string, labels: unknown): asserts labels is Readonly<Record<string, string>> {
  if (typeof labels !== 'object' || labels === null || Array.isArray(labels)) {
    throw OptionsError.expected(`\`${option}\` to be an object with string values`, labels)
  }
  for (const [key, value] of Object.entries(labels)) {
    if (!isLabelKey(key)) {
      throw OptionsError.expected(
        `the keys of \`${option}\` to be at most 63 of A-Z, a-z, 0-9, "-", "_" and ".", beginning and ending with a ` +
          `letter or digit, after an optional DNS prefix and a slash`,
        key,
      )
    }
    if (typeof value !== 'string' || !(value === '' || NAME.test(value))) {
      throw OptionsError.expected(
        `\`${option}['${key}']\` to be empty or at most 63 of A-Z, a-z, 0-9, "-", "_" and ".", beginning and ` +
          `ending with a letter or digit`,
        value,
      )
    }
  }
}

function isLabelKey(key: string): boolean {
  const slash = key.lastIndexOf('/')
  return NAME.test(key.slice(slash + 1)) && (slash === -1 || PREFIX.test(key.slice(0, slash)))
}
