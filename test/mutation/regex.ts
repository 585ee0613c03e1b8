/** A part of a regular expression that the operator changes, and what takes its place. */
interface Part {
  readonly find: RegExp
  readonly replace: (match: string) => string
}

const PARTS: readonly Part[] = [
  // Anchors and boundaries.
  { find: /^\^|\$$/, replace: () => '' },
  // Predefined classes.
  { find: /^\\[dDwWsS]$/, replace: ([, letter = '']) => `\\${swapCase(letter)}` },
  // Classes.
  { find: /^\[\^/, replace: (match) => `[${match.slice(2)}` },
  { find: /^\[(?!\^)/, replace: (match) => `[^${match.slice(1)}` },
  // Quantifiers.
  { find: /^(?:[*+?]|\{\d+(?:,\d*)?\})\??$/, replace: () => '' },
  // Lookaround.
  { find: /^\(\?<?[=!]$/, replace: (match) => match.slice(0, -1) + (match.endsWith('=') ? '!' : '=') },
]

const TOKENS = /\\.|\[(?:\\.|[^\]\\])*\]|\(\?<?[=!]|\((?:\?(?::|<\w+>))?|(?:[*+?]|\{\d+(?:,\d*)?\})\??|[^]/gu

/** Each regular expression that differs in one token. The literal has its slashes and flags. */
export function regexChanges(literal: string): readonly string[] {
  const end = literal.lastIndexOf('/')
  const tokens: readonly string[] = literal.slice(1, end).match(TOKENS) ?? []
  return tokens.flatMap((token, index) => {
    const part = PARTS.find(({ find }) => find.test(token))
    if (part === undefined) return []
    const changed = tokens.with(index, part.replace(token)).join('')
    return changed === '' || !isValid(changed, literal.slice(end + 1)) ? [] : [`/${changed}${literal.slice(end)}`]
  })
}

function isValid(pattern: string, flags: string): boolean {
  try {
    return new RegExp(pattern, flags).source !== ''
  } catch {
    return false
  }
}

function swapCase(letter: string): string {
  return letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase()
}
