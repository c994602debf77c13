# The portfolio's tools for agents, over standard input and output.
#
#   docker run --rm -i -v portfolio:/data ghcr.io/signalbox-dev/portfolio
FROM scratch
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/portfolio /usr/bin/
COPY LICENSE NOTICE /usr/share/doc/signalbox/
ENV PORTFOLIO_DB=/data/portfolio.db
USER 1000:1000
# Made for that user: a new volume that is mounted here has the owner that the directory has.
WORKDIR /data
ENTRYPOINT ["/usr/bin/portfolio"]
CMD ["mcp"]
