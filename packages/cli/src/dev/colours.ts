import { styleText } from 'node:util'
import type { Terminal } from '../terminal.ts'

const COLOURS = ['cyan', 'yellow', 'magenta', 'green', 'blue', 'red'] as const

/** Colours a text for the nth of several things. Only in a terminal, and not with `NO_COLOR`. */
export function coloured(text: string, n: number, { columns, env }: Pick<Terminal, 'columns' | 'env'>): string {
  const colour = COLOURS[n % COLOURS.length]
  if (colour === undefined || columns === undefined || env['NO_COLOR']) return text
  return styleText(colour, text, { validateStream: false })
}
