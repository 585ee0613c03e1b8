/*
 * The parts that the drawn pictures are made of. Each picture has a background of its own, so that it can be read on a light page and on
 * a dark one, and follows the colours that the reader prefers.
 */
const STYLE = `
  text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #1f2933 }
  .head { font-weight: 600 } .small { font-size: 11.5px; fill: #52606d } .onbar { font-size: 12px; fill: #102a43 }
  .card { fill: #ffffff; stroke: #d3dae1 } .rule { stroke: #bcc6d0 } .mark { stroke: #c2410c; stroke-dasharray: 4 3 }
  .go { fill: #a7d8b8 } .wait { fill: #bfd7f2 } .hard { fill: #f6c9a8 } .late { fill: #f1a9a9 } .none { fill: #e4e8ec }
  .line { stroke: #334e68; fill: none } .tip, .line polygon { fill: #334e68 }
  .halo { stroke: #ffffff; stroke-width: 5px; stroke-linejoin: round; paint-order: stroke }
  .node text { font-size: 9.5px; stroke: none } .edge text { font-size: 8.5px; stroke: none }
  @media (prefers-color-scheme: dark) {
    text { fill: #e4e7eb } .small { fill: #a9b4c0 } .onbar { fill: #f0f4f8 }
    .card { fill: #161b22; stroke: #3b4450 } .rule { stroke: #4a5562 } .mark { stroke: #fb923c }
    .go { fill: #1f6f43 } .wait { fill: #23527c } .hard { fill: #8a4a1c } .late { fill: #8b2c2c } .none { fill: #333b45 }
    .line { stroke: #9fb3c8 } .tip, .line polygon { fill: #9fb3c8 } .halo { stroke: #161b22 }
  }`

/** A whole picture on its card. `title` is what screen readers say. */
export function card(title: string, width: number, height: number, body: readonly string[]): string {
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="card" x="0.5" y="0.5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...body,
    '</svg>\n',
  ].join('\n')
}

/** Where a text stands, and how it looks. */
interface TextPlace {
  readonly x: number
  readonly y: number
  readonly anchor?: 'start' | 'middle' | 'end'
  readonly look?: 'head' | 'small' | 'onbar' | 'small halo'
}

export function text(content: string, { x, y, anchor = 'start', look }: TextPlace): string {
  const style = look === undefined ? '' : ` class="${look}"`
  return `<text${style} x="${round(x)}" y="${round(y)}" text-anchor="${anchor}">${escaped(content)}</text>`
}

/** The two ends of a line. */
interface Ends {
  readonly x1: number
  readonly y1: number
  readonly x2: number
  readonly y2: number
}

export function line(look: string, { x1, y1, x2, y2 }: Ends): string {
  return `<line class="${look}" x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}"/>`
}

/** A level arrow. */
export function arrow(from: number, to: number, y: number): string {
  const back = to > from ? -7 : 7
  const tip = `<path class="tip" d="M${round(to)} ${y}l${back} -4v8z"/>`
  return line('line', { x1: from, y1: y, x2: to, y2: y }) + tip
}

function escaped(content: string): string {
  return content.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

export function round(value: number): number {
  return Math.round(value * 10) / 10
}
