"""The colours of every picture: those of Okabe and Ito, told apart by colour-blind readers too."""

BLUE = "#0072B2"
VERMILION = "#D55E00"
GREEN = "#009E73"
GREY = "#6B6B6B"
