/** A phrase that documents, comments and texts avoid, and what to write instead. */
interface AvoidedPhrase {
  readonly pattern: RegExp
  readonly instead: string
}

/** A space in a pattern also matches a line break. Each pattern excludes the uses that are plain English. */
const AVOIDED: readonly AvoidedPhrase[] = [
  { pattern: /\bwhoever\b/gi, instead: 'name the replica, client or caller' },
  {
    pattern: /\b(?:am|is|are|was|were|be|been) told\b(?! apart)/gi,
    instead: 'name the event or call',
  },
  { pattern: /\banew\b/gi, instead: 'again' },
  {
    pattern: /(?<!\b(?:the|any|every|each|no|only|first|last|next|other|another|new|calm|missing) )\bone that\b/gi,
    instead: 'repeat the noun',
  },
  { pattern: /\b(?:took|made|happened|changed|seen|done|so) of late\b|\bof late[.,;:]/gi, instead: 'recently' },
  { pattern: /\bfor ever\b/gi, instead: 'forever, or "never …"' },
  { pattern: /\bby what its death\b/gi, instead: 'name the container or process' },
  { pattern: /\b(?:nobody|no one) asks\b/gi, instead: 'disabled, or name the caller' },
  { pattern: /\b(?:that|which) (?:is|are) over\b/gi, instead: 'that ended' },
  { pattern: /\bheld against\b/gi, instead: 'does not count' },
  { pattern: /\bstood still\b/gi, instead: 'paused, stopped, or has not changed' },
  { pattern: /\bwhat is won\b/gi, instead: 'name the resource' },
]

/** The avoided phrases of a text, each with its line and a remedy. Phrases are also found across the lines of a comment. */
export function avoidedPhrases(text: string): readonly string[] {
  const unmarked = text.replaceAll(/\n[ \t]*(?:\*(?!\/)|\/\/|--|#|\\\*)/g, (mark) => `\n${' '.repeat(mark.length - 1)}`)
  return AVOIDED.flatMap(({ pattern, instead }) =>
    [...unmarked.matchAll(acrossLines(pattern))].map(
      ({ index, 0: found }) => `line ${lineAt(text, index)}: "${found.replaceAll(/\s+/g, ' ')}": ${instead}`,
    ),
  )
}

function acrossLines({ source, flags }: RegExp): RegExp {
  return new RegExp(source.replaceAll(' ', String.raw`\s+`), flags)
}

function lineAt(text: string, index: number): number {
  return text.slice(0, index).split('\n').length
}
