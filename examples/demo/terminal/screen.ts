import { clearScreenDown, moveCursor } from 'node:readline'
import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

/** A line of the table. */
export interface TableLine {
  readonly text: string
  readonly style: Style | undefined
}

const HIDE_CURSOR = '\u001B[?25l'
const SHOW_CURSOR = '\u001B[?25h'

/** Lines of text that scroll, and in a terminal a table below them that is redrawn in place. Owns the cursor. */
export class Screen {
  readonly #stream: NodeJS.WriteStream
  readonly #table: () => readonly TableLine[]
  readonly #showCursor = () => this.#stream.write(SHOW_CURSOR)
  #drawn: readonly string[] = []
  #isOpen = false

  /** `table` is asked for the present content, in a terminal only. */
  constructor(stream: NodeJS.WriteStream, table: () => readonly TableLine[]) {
    this.#stream = stream
    this.#table = table
  }

  /** Shows the table in a terminal, and hides its cursor, until `close` or until the process ends. */
  open(): void {
    if (!this.#stream.isTTY) return
    this.#isOpen = true
    this.#stream.write(HIDE_CURSOR)
    process.once('exit', this.#showCursor)
  }

  /** Writes a line above the table. */
  line(text = '', style?: Style): void {
    this.#erase()
    this.#stream.write(`${this.#styled(text, style)}\n`)
    this.refresh()
  }

  /** Redraws the table if it has changed. */
  refresh(): void {
    if (!this.#isOpen) return
    const width = this.#stream.columns - 1
    const lines = this.#table().map(({ text, style }) => this.#styled(text.slice(0, width), style))
    if (lines.join('\n') === this.#drawn.join('\n')) return
    this.#erase()
    for (const line of lines) this.#stream.write(`${line}\n`)
    this.#drawn = lines
  }

  /** Takes the table away and gives the cursor back. Lines can still be written. */
  close(): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#erase()
    process.removeListener('exit', this.#showCursor)
    this.#showCursor()
  }

  #erase(): void {
    if (this.#drawn.length === 0) return
    moveCursor(this.#stream, 0, -this.#drawn.length)
    clearScreenDown(this.#stream)
    this.#drawn = []
  }

  #styled(text: string, style: Style | undefined): string {
    return style === undefined ? text : styleText(style, text, { stream: this.#stream })
  }
}
