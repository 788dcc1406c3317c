"""A record as a page, as what a notebook shows, or in the forms of CI servers and trackers.

To add a kind of page: a file `…_page` and its line in `pages`; its template, and how to read it in `assets/reading/`;
its page in `tests/output/kinds.py`, so that what all pages owe is tested. A picture: numbers to shapes in a file
`…_pictures`, the template in `assets/`; in a notebook `notebook_view`. What of a page stands in its address: `keep` in
`assets/address.js`, `keepView` in `mapview.js` for maps. A picture of a probe or a study: `figures` (numbers and
words), drawn by `figure_layout`. A form that a CI server or a tracker reads: `ci_formats`, its line in
`cli/output_formats`, its row in `docs/ci.md`.
"""
