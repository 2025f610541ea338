/*
 * The style of the page: for screens of any width, light and dark, and for paper. Called by page.c.
 *
 * Colours stand in the two blocks of variables only, where a test computes their contrast. Nothing
 * depends on a colour alone.
 */
#include "report/page/page.h"

const char page_style[] =
	":root{color-scheme:light dark;"
	"--back:#ffffff;--text:#1b1f24;--soft:#4a5360;--line:#b9c0c9;--head:#eef1f5;"
	"--link:#0b4fa8;--good:#14602a;--bad:#a11616;--note:#7a4300}\n"
	"@media screen and (prefers-color-scheme:dark){:root{"
	"--back:#14171b;--text:#e6e9ed;--soft:#aeb6c0;--line:#4b535d;--head:#22272e;"
	"--link:#8ab8ff;--good:#7fd394;--bad:#ff9a94;--note:#f0b865}\n"
	".plot svg{filter:invert(0.92) hue-rotate(180deg)}}\n"
	"*{box-sizing:border-box}\n"
	"body{margin:0 auto;max-width:75rem;padding:1rem;background:var(--back);color:var(--text);"
	"font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n"
	"h1{font-size:1.6rem;line-height:1.25;margin:.5rem 0}\n"
	"h2{font-size:1.3rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line)}\n"
	"h3{font-size:1.1rem;margin:1.5rem 0 .5rem}\n"
	"p,ul{margin:.5rem 0;max-width:60rem}\n"
	"a{color:var(--link)}\n"
	"code{font-family:ui-monospace,monospace;font-size:.9em}\n"
	".soft,caption,figcaption{color:var(--soft)}\n"
	".good strong{color:var(--good)}.bad strong{color:var(--bad)}"
	".note strong,.missing{color:var(--note)}\n"
	".box{overflow:auto;max-width:100%;max-height:26rem;margin:.75rem 0;"
	"border:1px solid var(--line)}\n"
	".box:focus-visible{outline:3px solid var(--link)}\n"
	"table{border-collapse:collapse;font-variant-numeric:tabular-nums;min-width:100%}\n"
	"caption{text-align:left;padding:.4rem .6rem}\n"
	"th,td{padding:.2rem .6rem;text-align:right;white-space:nowrap;"
	"border-top:1px solid var(--line)}\n"
	"th[scope=row],.t{text-align:left;white-space:normal;min-width:7rem;max-width:40rem}\n"
	"thead th{background:var(--head);position:sticky;top:0}\n"
	"th{font-weight:600}th[scope=row]{font-weight:500}\n"
	"figure{margin:1rem 0}\n"
	".plot{overflow-x:auto;max-width:100%;background:var(--back)}\n"
	".plot svg{display:block;width:100%;min-width:36rem;max-width:60rem;height:auto;"
	"background:#ffffff}\n"
	"@media print{body{max-width:none;padding:0;font-size:10pt}"
	".box{max-height:none;overflow:visible;border:0}.plot{overflow:visible}"
	".plot svg{min-width:0;max-width:100%}nav{display:none}"
	"thead th{position:static}th,td{white-space:normal;padding:.1rem .3rem}"
	"th[scope=row],.t{min-width:0}h2,h3,caption,figcaption{break-after:avoid}"
	"svg,tr{break-inside:avoid}}\n";
