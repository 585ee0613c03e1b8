/*
 * Versions as semver.org 2.0.0 defines them, without leniency: `1.36`, `v1.36.0` and `1.036.0` are no versions. Kubernetes accepts the same.
 */
const NUMBER = '(0|[1-9]\\d{0,14})'
const PRE_RELEASE = '(?:0|[1-9]\\d*|\\d*[A-Za-z-][0-9A-Za-z-]*)'
const BUILD = '[0-9A-Za-z-]+'
const VERSION = new RegExp(
  `^${NUMBER}\\.${NUMBER}\\.${NUMBER}(?:-(${PRE_RELEASE}(?:\\.${PRE_RELEASE})*))?(?:\\+${BUILD}(?:\\.${BUILD})*)?$`,
)

/** Longer texts are no versions: every write of the list of standbys carries them. */
const MAX_VERSION_LENGTH = 128

/** Whether this is a version. */
export function isVersion(value: unknown): value is string {
  return typeof value === 'string' && value.length <= MAX_VERSION_LENGTH && VERSION.test(value)
}

/** Negative if version `a` comes before `b`, positive if after, 0 if neither. A pre-release comes before its release; builds do not count. */
export function compareVersions(a: string, b: string): number {
  const [first, second] = [partsOf(a), partsOf(b)]
  for (const [index, number] of first.numbers.entries()) {
    const order = number - (second.numbers[index] ?? 0)
    if (order !== 0) return Math.sign(order)
  }
  return comparePreReleases(first.preRelease, second.preRelease)
}

interface Parts {
  readonly numbers: readonly number[]
  readonly preRelease: readonly string[]
}

function partsOf(version: string): Parts {
  const [, major, minor, patch, preRelease] = VERSION.exec(version) ?? []
  return { numbers: [major, minor, patch].map(Number), preRelease: preRelease?.split('.') ?? [] }
}

function comparePreReleases(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return Number(a.length === 0) - Number(b.length === 0)
  for (const [index, part] of a.entries()) {
    const other = b[index]
    if (other === undefined) return 1
    const order = compareParts(part, other)
    if (order !== 0) return order
  }
  return a.length < b.length ? -1 : 0
}

/** Numbers come before texts. They may be longer than a number can be exact. */
function compareParts(a: string, b: string): number {
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)]
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1
  if (isNumber && a.length !== b.length) return Math.sign(a.length - b.length)
  return Number(a > b) - Number(a < b)
}
